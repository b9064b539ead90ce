/*
 * vfork: the child runs on the parent's stack and thread-local storage until it execs or ends, so no C
 * function can stand between. This does what libc's does (keep the return address in a register over
 * the system call) and makes the thread mute meanwhile, so that nothing of the child is recorded in
 * the parent's name. The kernel preserves all registers but rax, rcx and r11 in the parent.
 */
	.text
	.globl	vfork
	.type	vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	mov	rec_thread_current@gottpoff(%rip), %rcx
	mov	%fs:(%rcx), %rsi
	lea	rec_thread_mute(%rip), %rdx
	mov	%rdx, %fs:(%rcx)
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	mov	$58, %eax
	syscall
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	test	%rax, %rax
	jz	1f
	mov	rec_thread_current@gottpoff(%rip), %rcx
	mov	%rsi, %fs:(%rcx)
	cmp	$-4095, %rax
	jae	2f
1:	ret
2:	neg	%eax
	push	%rax
	.cfi_adjust_cfa_offset 8
	call	*__errno_location@GOTPCREL(%rip)
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	mov	%edx, (%rax)
	mov	$-1, %rax
	ret
	.cfi_endproc
	.size	vfork, . - vfork
	.section .note.GNU-stack, "", @progbits
