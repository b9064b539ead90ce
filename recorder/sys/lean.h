/*
 * How a function is marked that runs in every call of the program and never stands on the stack
 * when one is walked.
 */
#ifndef HOLTER_SYS_LEAN_H
#define HOLTER_SYS_LEAN_H

/*
 * No frame pointer: lets the compiler open a frame only on the path that needs one. Not for
 * functions that call what captures stacks, except by a jump: the walker goes along frame pointers
 * inside the injected object. A compiler that does not know the attribute makes slower, equally
 * right code.
 */
#if defined(__has_attribute) && __has_attribute(optimize)
#define SYS_LEAN __attribute__((optimize("omit-frame-pointer"), aligned(64)))
#else
#define SYS_LEAN
#endif

#endif
