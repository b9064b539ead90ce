/*
 * Addresses of sockets, as the depot keeps them.
 *
 * In: socket addresses from calls or from the kernel. Out: depot ids for socket events. Never here:
 * name resolution.
 */
#ifndef HOLTER_PRELOAD_FD_ADDRESS_H
#define HOLTER_PRELOAD_FD_ADDRESS_H

#include "preload/fd_table.h"

/**
 * pre_fd_address() - depot id of the peer and own address of a socket.
 * @thread: attached. @fd, @entry: the socket and its entry.
 *
 * Return: the id, 0 when none can be had.
 * Context: any thread; raw system calls the first time; async-signal-safe.
 */
uint32_t pre_fd_address(struct rec_thread *thread, int fd, uint64_t entry);

/**
 * pre_fd_meet() - notes the peer of a socket that was accepted or is being connected.
 * @thread: attached.
 * @fd: the socket.
 * @peer, @length: address the call names; NULL or 0 asks the kernel.
 * @keep: false only makes the id, the descriptor is not connected after all.
 *
 * Return: depot id of the address, 0 when none can be had.
 * Context: as pre_fd_address().
 */
uint32_t pre_fd_meet(struct rec_thread *thread, int fd, const struct sockaddr *peer,
		     socklen_t length, bool keep);

/**
 * pre_fd_peer() - depot id for one datagram's peer.
 * @peer, @length: its address.
 *
 * Return: the id, 0 when none can be had. Context: as pre_fd_address().
 */
uint32_t pre_fd_peer(struct rec_thread *thread, int fd, const struct sockaddr *peer,
		     socklen_t length);

#endif
