/*
 * Output files (out_file.h).
 *
 * In: bytes of a command. Out: a file. The frame has independent blocks, which JMC needs
 * (jfr-format 14).
 */
#include "tools/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cmd.h"

static bool ends_in(const char *path, const char *suffix)
{
	size_t length = strlen(path);
	size_t count = strlen(suffix);

	return length >= count && strcmp(path + length - count, suffix) == 0;
}

bool cli_is_recording_name(const char *path)
{
	return ends_in(path, ".jfr") || ends_in(path, ".jfr.lz4");
}

static int write_all(struct cli_out_file *file, const char *bytes, size_t count)
{
	if (file->limit && file->packed_bytes + count > file->limit)
		return EFBIG;
	file->packed_bytes += count;
	while (count) {
		ssize_t done = write(file->fd, bytes, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		bytes += done;
		count -= (size_t)done;
	}
	return 0;
}

/* Compresses what the output hands on. */
static int pack(void *context, const char *bytes, size_t count)
{
	struct cli_out_file *file = context;
	size_t piece = CLI_OUT_BLOCK;
	int error = 0;

	for (; count && !error; bytes += piece, count -= piece) {
		size_t done;

		piece = min_u64(piece, count);
		done = LZ4F_compressUpdate(file->frame, file->packed, file->packed_size, bytes,
					   piece, NULL);
		error = LZ4F_isError(done) ? EIO : write_all(file, file->packed, done);
	}
	return error;
}

static int begin_frame(struct cli_out_file *file)
{
	LZ4F_preferences_t preferences = {
		.frameInfo = { .blockSizeID = LZ4F_max1MB,
			       .blockMode = LZ4F_blockIndependent,
			       .contentChecksumFlag = LZ4F_contentChecksumEnabled },
	};
	LZ4F_compressionContext_t frame;
	size_t done;

	if (LZ4F_isError(LZ4F_createCompressionContext(&frame, LZ4F_VERSION)))
		return ENOMEM;
	file->frame = frame;
	file->packed_size = LZ4F_compressBound(CLI_OUT_BLOCK, &preferences);
	file->packed_size = max_u64(file->packed_size, LZ4F_HEADER_SIZE_MAX);
	file->packed = cli_alloc(file->packed_size);
	done = LZ4F_compressBegin(frame, file->packed, file->packed_size, &preferences);
	if (LZ4F_isError(done))
		return EIO;
	file->out.sink = pack;
	file->out.sink_context = file;
	file->out.limit = 0; /* that of the packed bytes counts */
	return write_all(file, file->packed, done);
}

static int end_frame(struct cli_out_file *file)
{
	size_t done = LZ4F_compressEnd(file->frame, file->packed, file->packed_size, NULL);

	return LZ4F_isError(done) ? EIO : write_all(file, file->packed, done);
}

/* A fresh name beside the file's. */
static int create_temporary(struct cli_out_file *file)
{
	size_t bytes = strlen(file->path) + 32;

	file->temporary = cli_alloc(bytes);
	snprintf(file->temporary, bytes, "%s.%d.tmp", file->path, getpid());
	file->fd =
		open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return file->fd < 0 ? errno : 0;
}

int cli_out_file_open(struct cli_out_file *file, const char *path, uint64_t limit)
{
	struct stat stat_of;
	int error = 0;

	*file = (struct cli_out_file){ .name = "standard output",
				       .fd = STDOUT_FILENO,
				       .limit = limit };
	if (path && strcmp(path, "-") != 0) {
		file->name = file->path = path;
		if (stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode)) {
			file->fd = open(path, O_WRONLY | O_CLOEXEC);
			error = file->fd < 0 ? errno : 0;
		} else {
			error = create_temporary(file);
		}
	}
	cli_out_init(&file->out, file->fd, limit);
	if (!error && path && ends_in(path, ".lz4"))
		error = begin_frame(file);
	if (!error)
		return 0;
	cli_failed("%s: cannot be written: %s", file->name, strerror(error));
	cli_out_file_close(file, CLI_FAILED, false);
	return CLI_FAILED;
}

/* Brings the bytes to the disk and the file to its name. */
static int complete(struct cli_out_file *file)
{
	if (!file->temporary)
		return 0;
	if (fsync(file->fd) != 0 || rename(file->temporary, file->path) != 0)
		return errno;
	return 0;
}

int cli_out_file_close(struct cli_out_file *file, int status, bool is_kept)
{
	int error = 0;

	if (is_kept) {
		error = cli_out_flush(&file->out);
		if (!error && file->frame)
			error = end_frame(file);
		if (!error)
			error = complete(file);
	}
	if (file->temporary && (error || !is_kept))
		unlink(file->temporary);
	if (error == EFBIG && file->limit)
		status =
			cli_failed("%s: more than the limit of %llu bytes%s (--limit; choose fewer "
				   "events)",
				   file->name, (unsigned long long)file->limit,
				   file->temporary ? ": nothing was written" : "");
	else if (error && error != EPIPE)
		status = cli_failed("%s: cannot be written: %s", file->name, strerror(error));
	else if (error)
		status = CLI_FAILED;
	if (file->path && file->fd >= 0)
		close(file->fd);
	LZ4F_freeCompressionContext(file->frame);
	free(file->packed);
	free(file->temporary);
	cli_out_free(&file->out);
	return status;
}
