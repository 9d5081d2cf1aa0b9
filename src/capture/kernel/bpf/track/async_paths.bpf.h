/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Operations of io_uring on paths. The kernel copies each path when it prepares the request, and
 * frees the copy before the end is reported. The strings are therefore sent at submission.
 */
#ifndef IOTRAIL_ASYNC_PATHS_BPF_H
#define IOTRAIL_ASYNC_PATHS_BPF_H

#include "capture/kernel/abi/kernel_abi_async.h"
#include "track/core.bpf.h"

#define IS_CALL(call, name) ((call) == IOT_async_call_IORING_OP_##name)
#define IS_OPEN(call) IOT_IS_ASYNC_OPEN(call)
#define IS_LINK(call) (IS_CALL(call, LINKAT) || IS_CALL(call, SYMLINKAT))
#define IS_CALL_ON_ATTRIBUTE(call) (IS_CALL(call, SETXATTR) || IS_CALL(call, GETXATTR))

/* Whether the kernel has a path there: the fields of a request may change between kernels. */
#define HAS_PATH(type, field) bpf_core_field_exists(((struct type*)0)->field)

/* The kernel's copies of the paths; 0: none. */
struct given_names {
  iot_u64 path;
  iot_u64 new_path;
};

#define ASK_FOR_PATH(type, flags_field)                                                            \
  do {                                                                                             \
    const struct type* asked = (const struct type*)request;                                        \
    names->path = (iot_u64)BPF_CORE_READ(asked, filename);                                         \
    paths->fd = BPF_CORE_READ(asked, dfd);                                                         \
    paths->flags = (iot_u32)BPF_CORE_READ(asked, flags_field);                                     \
  } while (0)
#define ASK_FOR_BOTH_PATHS(type)                                                                   \
  do {                                                                                             \
    const struct type* asked = (const struct type*)request;                                        \
    names->path = (iot_u64)BPF_CORE_READ(asked, oldpath);                                          \
    names->new_path = (iot_u64)BPF_CORE_READ(asked, newpath);                                      \
    paths->fd = BPF_CORE_READ(asked, old_dfd);                                                     \
    paths->new_fd = BPF_CORE_READ(asked, new_dfd);                                                 \
    paths->flags = (iot_u32)BPF_CORE_READ(asked, flags);                                           \
  } while (0)

static __always_inline void ask_for_names(struct given_names* names, struct iot_async_paths* paths,
                                          iot_u32 call, iot_u64 request) {
  if (IS_OPEN(call) && HAS_PATH(io_open, filename)) {
    ASK_FOR_PATH(io_open, how.flags);
  } else if (IS_CALL(call, STATX) && HAS_PATH(io_statx, filename)) {
    ASK_FOR_PATH(io_statx, flags);
  } else if (IS_CALL(call, UNLINKAT) && HAS_PATH(io_unlink, filename)) {
    ASK_FOR_PATH(io_unlink, flags);
  } else if (IS_CALL(call, MKDIRAT) && HAS_PATH(io_mkdir, filename)) {
    const struct io_mkdir* made = (const struct io_mkdir*)request;
    names->path = (iot_u64)BPF_CORE_READ(made, filename);
    paths->fd = BPF_CORE_READ(made, dfd);
  } else if (IS_CALL(call, RENAMEAT) && HAS_PATH(io_rename, oldpath)) {
    ASK_FOR_BOTH_PATHS(io_rename);
  } else if (IS_LINK(call) && HAS_PATH(io_link, oldpath)) {
    ASK_FOR_BOTH_PATHS(io_link);
    if (IS_CALL(call, SYMLINKAT)) /* the target of a link starts at no directory */
      paths->fd = IOT_NO_FD;
  } else if (IS_CALL_ON_ATTRIBUTE(call) && HAS_PATH(io_xattr, filename)) {
    names->path = (iot_u64)BPF_CORE_READ((const struct io_xattr*)request, filename);
    paths->fd = IOT_AT_FDCWD;
  }
}

static __always_inline iot_u32 string_of_name(iot_u64 name) {
  const iot_u64 string = (iot_u64)BPF_CORE_READ((const struct filename*)name, name);
  return string ? iot_string_of_kernel(string) : 0;
}

/*
 * Reads the paths of a request. Returns the descriptor of the directory that the first path starts
 * at. A global function: a program that calls it is verified without it.
 */
__noinline iot_s32 iot_ask_for_paths(struct iot_async_paths* paths, iot_u32 call, iot_u64 request) {
  if (!paths)
    return IOT_NO_FD;
  struct given_names names = {};
  paths->is_given = 1;
  paths->fd = IOT_NO_FD;
  paths->new_fd = IOT_NO_FD;
  ask_for_names(&names, paths, call, request);
  if (names.path)
    paths->path = string_of_name(names.path);
  else
    iot_count(IOT_COUNTER_kernel_async_path_untold);
  if (names.new_path)
    paths->new_path = string_of_name(names.new_path);
  return paths->fd;
}

/*
 * Reads the paths of an entry that the kernel refuses: it has no copy, or freed it. Reads the
 * program's memory instead, a path that is too long up to the longest valid one.
 */
__noinline iot_s32 iot_read_paths(struct iot_async_paths* paths, iot_u32 call, iot_u64 at) {
  if (!paths)
    return IOT_NO_FD;
  const struct io_uring_sqe* entry = (const struct io_uring_sqe*)at;
  const int is_symlink = IS_CALL(call, SYMLINKAT);
  const int has_two = IS_LINK(call) || IS_CALL(call, RENAMEAT);
  const iot_s32 fd = BPF_CORE_READ(entry, fd);
  paths->is_given = 1;
  paths->fd = IS_CALL_ON_ATTRIBUTE(call) ? IOT_AT_FDCWD : is_symlink ? IOT_NO_FD : fd;
  paths->new_fd = is_symlink ? fd : has_two ? (iot_s32)BPF_CORE_READ(entry, len) : IOT_NO_FD;
  paths->path = iot_string_of_user(IS_CALL_ON_ATTRIBUTE(call) ? BPF_CORE_READ(entry, addr3)
                                                              : BPF_CORE_READ(entry, addr));
  if (has_two)
    paths->new_path = iot_string_of_user(BPF_CORE_READ(entry, off));
  if (!IS_CALL_ON_ATTRIBUTE(call) && !is_symlink && !IS_CALL(call, OPENAT2))
    paths->flags = BPF_CORE_READ(entry, open_flags);
  return paths->fd;
}

__noinline int iot_emit_async_path(const struct iot_async* async, iot_s64 result, iot_u64 now_ns) {
  if (!async || !iot_wants(IOT_KIND_async_path) || !iot_file_wanted(async->file))
    return 0;
  const iot_u32 call = async->call;
  const iot_u32 flags = async->paths.flags;
  struct iot_place place;
  struct iot_async_path* record = IOT_RESERVE(async_path, &place);
  if (!record)
    return 0;
  record->result = result;
  record->file = async->file;
  record->path = async->paths.path;
  record->new_path = async->paths.new_path;
  record->fd = async->paths.fd;
  record->new_fd = async->paths.new_fd;
  record->open_flags = IOT_OPEN_FLAGS(call, flags);
  record->rename_flags = IOT_RENAME_FLAGS(call, flags);
  record->flags = IOT_OTHER_FLAGS(call, flags);
  record->call = call;
  iot_commit(&place, &async->owner, now_ns);
  return 0;
}

#endif
