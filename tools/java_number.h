/*
 * Floating-point numbers as a JDK 17 writes them, so that texts of two readers can be compared.
 *
 * In: a number. Out: digits in the caller's buffer. JDK 17 does not always give the shortest digits
 * that lead back to a number (JDK-4511638, corrected in 19), and rounds halves of the decimal
 * digits up, so printf will not do. Pure: no locale, no state.
 */
#ifndef HOLTER_TOOLS_JAVA_NUMBER_H
#define HOLTER_TOOLS_JAVA_NUMBER_H

#include <stddef.h>

#define CLI_NUMBER_BYTES 32
#define CLI_FIXED_BYTES 352 /* the largest double, ten decimals */

/**
 * cli_java_double() - as Double.toString(): "0.001", "1.0E-5", "NaN", "-Infinity".
 * cli_java_float() - as Float.toString().
 * @buffer: CLI_NUMBER_BYTES; ended by NUL.
 *
 * Return: length of the text. Context: any thread.
 */
size_t cli_java_double(char *buffer, double value);
size_t cli_java_float(char *buffer, float value);

/**
 * cli_java_fixed() - as String.format("%.Nf").
 * @buffer: CLI_FIXED_BYTES; ended by NUL.
 * @decimals: at most 9.
 *
 * Return: length of the text. Context: any thread.
 */
size_t cli_java_fixed(char *buffer, double value, unsigned decimals);

#endif
