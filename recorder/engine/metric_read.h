/*
 * The samplers of metric.c: one function per periodic event.
 *
 * In: struct rec_metrics. Out: records, by rec_metric_emit(). For metric.c only.
 */
#ifndef HOLTER_ENGINE_METRIC_READ_H
#define HOLTER_ENGINE_METRIC_READ_H

#include "recorder/engine/metric.h"

/**
 * rec_metric_emit() - appends one record of the leader at the present moment.
 *
 * Return: nothing. Context: the leader.
 */
void rec_metric_emit(struct rec_metrics *metrics, uint32_t number, const void *body,
		     uint32_t bytes);

/**
 * rec_metric_family() - sums over the family, read once per round.
 *
 * Return: the sums. Context: the leader.
 */
const struct rec_metric_family *rec_metric_family(struct rec_metrics *metrics, uint64_t now_ns);

/* Samplers. Return: nothing. Context: the leader. */
void rec_metric_cpu_load(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_thread_load(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_switches(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_physical_memory(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_resident_set(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_thread_count(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_network(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_heap(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_descriptors(struct rec_metrics *metrics, uint64_t now_ns);
void rec_metric_cgroup(struct rec_metrics *metrics, uint64_t now_ns);

#endif
