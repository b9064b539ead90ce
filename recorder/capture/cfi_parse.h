/*
 * Call frame information (.eh_frame) of one code location, as one row of its table.
 *
 * In: an object's .eh_frame_hdr in memory and a location. Out: where the caller's stack pointer,
 * return address, rbp and rbx are. Pure: reads only inside the segments that the image names, keeps
 * no state. Input may be malformed: it ends in an error or in a wrong row, never in a read outside.
 */
#ifndef HOLTER_CAPTURE_CFI_PARSE_H
#define HOLTER_CAPTURE_CFI_PARSE_H

#include "recorder/base/util.h"

#define REC_CFI_REG_RBX 3
#define REC_CFI_REG_RBP 6
#define REC_CFI_REG_RSP 7
#define REC_CFI_REG_RA 16

/* How a value of the caller is had; "at" an address means a load from there. */
enum rec_cfi_how {
	REC_CFI_SAME,	   /* unchanged (rbp, rbx only) */
	REC_CFI_AT_CFA,	   /* at CFA + offset */
	REC_CFI_AT_RBP,	   /* at rbp + offset */
	REC_CFI_AT_RSP,	   /* at rsp + offset */
	REC_CFI_UNDEFINED, /* gone; for the return address: this is the outermost frame */
	REC_CFI_UNKNOWN,   /* said in a way that this parser does not understand */
};

enum rec_cfi_cfa {
	REC_CFI_CFA_REGISTER, /* CFA = register + offset */
	REC_CFI_CFA_DEREF,    /* CFA = *(register + offset) + add */
	REC_CFI_CFA_UNKNOWN,
};

struct rec_cfi_row {
	int32_t cfa_offset;
	int32_t rbp_offset, rbx_offset, ra_offset;
	int16_t cfa_add;
	uint8_t cfa;	      /* enum rec_cfi_cfa */
	uint8_t cfa_register; /* DWARF number, 0..15 */
	uint8_t rbp, rbx, ra; /* enum rec_cfi_how */
	uint8_t is_signal;    /* the frame of a signal handler's return: a ucontext is at rsp */
};

/* Where the parser may read. */
struct rec_cfi_image {
	uint64_t header;	    /* .eh_frame_hdr */
	uint64_t low, high;	    /* readable bytes around it: its segment */
	uint64_t elf;		    /* ELF header, to find other segments by; 0: there is none */
	uint64_t map_low, map_high; /* of the whole object */
};

/**
 * rec_cfi_image_init() - finds the segment that holds an object's .eh_frame_hdr.
 * @image: out.
 * @map_low, @map_high: the object's mapping; its first page must be readable.
 * @header: its .eh_frame_hdr.
 *
 * Return: 0; HOLTER_E_CORRUPT when the header lies in no readable segment.
 * Context: any thread; async-signal-safe. The object must stay mapped.
 */
int rec_cfi_image_init(struct rec_cfi_image *image, uint64_t map_low, uint64_t map_high,
		       uint64_t header);

/**
 * rec_cfi_parse() - the row that covers a location.
 * @image: of the object.
 * @location: an instruction's address; for a return address the byte before it.
 * @row: out; undefined on failure.
 *
 * Return: 0; HOLTER_E_NO_FIELD when no entry covers it; HOLTER_E_CORRUPT.
 * Context: any thread; about 400 bytes of stack; async-signal-safe. The object must stay mapped.
 */
int rec_cfi_parse(const struct rec_cfi_image *image, uint64_t location, struct rec_cfi_row *row);

#endif
