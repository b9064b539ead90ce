/*
 * Values of configuration keys: text to fields of struct rec_config, and back to text.
 *
 * In: one value. Out: the field, or a code. For config.c and config_apply.c only. Never here: how
 * items are told apart, what is complained about.
 */
#ifndef HOLTER_ENGINE_CONFIG_VALUE_H
#define HOLTER_ENGINE_CONFIG_VALUE_H

#include "recorder/base/text.h"
#include "recorder/engine/config.h"

/**
 * rec_config_value_read() - sets the field of a key.
 * @value: not ended by NUL.
 *
 * REC_CONFIG_config, and REC_CONFIG_settings with anything but a preset's name, are the caller's.
 *
 * Return: 0; HOLTER_E_SYNTAX not of this kind, HOLTER_E_UNIT wrong unit, HOLTER_E_LIMIT out of
 * range; the field is untouched then. Context: any; async-signal-safe.
 */
int rec_config_value_read(struct rec_config *config, enum rec_config_key key, const char *value,
			  size_t count);

/* Appends the value of a key as rec_config_value_read() takes it. Return: nothing. Context: any. */
void rec_config_value_print(const struct rec_config *config, enum rec_config_key key,
			    struct text *text);

/* Number of a preset's name, -1 when it is none. Return: see before. Context: any. */
int rec_config_preset(const char *value, size_t count);

/* Settings of an event, in the order of rec_config_event_names. */
#define REC_CONFIG_EVENT_SETTINGS 5u
extern const char *const rec_config_event_names[REC_CONFIG_EVENT_SETTINGS];
extern const char *const rec_config_event_values[REC_CONFIG_EVENT_SETTINGS];

/**
 * rec_config_event_read() - sets one setting of an event.
 * @setting: index in rec_config_event_names.
 *
 * Return: as rec_config_value_read(). Context: any; async-signal-safe.
 */
int rec_config_event_read(struct rec_config_event *event, unsigned setting, const char *value,
			  size_t count);

/* Appends the value of a setting that is set. Return: nothing. Context: any. */
void rec_config_event_print(const struct rec_config_event *event, unsigned setting,
			    struct text *text);

/**
 * rec_config_signal_name() - appends "USR2", "RTMIN+3", "none" or the number.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_config_signal_name(int number, struct text *text);

#endif
