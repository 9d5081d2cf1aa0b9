/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Paths that the filter includes (--file). The inode that a path has when the recording begins is
 * in `wanted_files`. A file that gets the path later is found by its directory entry. Calls that
 * only name a path are compared by the path's text, from the directory where the call begins.
 * Symbolic links on the way are not followed.
 */
#ifndef IOTRAIL_NAMED_PATH_BPF_H
#define IOTRAIL_NAMED_PATH_BPF_H

#include "out/message.bpf.h"
#include "track/filter.bpf.h"

/* Of the directory entry by which a file was opened; `file`: its struct file, 0: unknown. */
iot_u32 iot_verdict_on_name(iot_u64 file); /* named_path.bpf.c */

/*
 * Id of the absolute path as a string if the filter includes the path that a call names, from the
 * directory of a descriptor on; 0: it does not. `path`: an address in the program.
 */
iot_u32 iot_named_path(iot_s32 fd, iot_u64 path); /* named_path.bpf.c */

/* False: the filter excludes a call that only names a path. Otherwise `text` is the path's id. */
static __always_inline int iot_describe_path(iot_s32 fd, iot_u64 path, iot_u32* text) {
  *text = iot_config.named_paths ? iot_named_path(fd, path) : 0;
  if (*text)
    return 1;
  if (!iot_file_wanted(0))
    return 0;
  *text = iot_string_of_user(path);
  return 1;
}

#endif
