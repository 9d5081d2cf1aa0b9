/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The virtual file system: attributes and sizes of files, entries of directories, copies between
 * files inside the kernel, and the work at the close of a descriptor.
 */
#include "probes/vfs/vfs.bpf.h"

static __always_inline iot_u32 vfs_file_of_path(struct iot_task* task, iot_u64 path) {
  return vfs_file_of_dentry(task, (iot_u64)BPF_CORE_READ((const struct path*)path, dentry));
}

/*
 * Compilers inline vfs_getattr and vfs_statfs, which programs use, but not the functions that they
 * call. vfs_getattr_nosec(path, answer, wanted, flags)
 */
static __always_inline int begin_stat(const struct vfs_arguments* arguments, iot_u32 kind,
                                      iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span =
      vfs_begin(task, kind, arguments, vfs_file_of_path(task, arguments->at[0]));
  if (!span)
    return 0;
  span->flags = (iot_u32)arguments->at[3];
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_stat(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_stat* record = VFS_RESERVE(vfs_stat, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->result = vfs_status(result);
  record->file = span->file;
  record->flags = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

/* statfs_by_dentry(dentry, answer) */
static __always_inline int begin_statfs(const struct vfs_arguments* arguments, iot_u32 kind,
                                        iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span =
      vfs_begin(task, kind, arguments, vfs_file_of_dentry(task, arguments->at[0]));
  if (span)
    span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_statfs(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_statfs* record = VFS_RESERVE(vfs_statfs, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->result = vfs_status(result);
  record->file = span->file;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_getattr_nosec, 0, IOT_KIND_vfs_stat, begin_stat, end_stat)
VFS_PROGRAMS(statfs_by_dentry, 0, IOT_KIND_vfs_statfs, begin_statfs, end_statfs)

struct iattr {
  unsigned int ia_valid;
  u16 ia_mode;
  s64 ia_size;
} __attribute__((preserve_access_index));

/* notify_change(mount, dentry, attributes) */
static __always_inline int begin_setattr(const struct vfs_arguments* arguments, iot_u32 kind,
                                         iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct iattr* attributes = (const void*)arguments->at[2];
  const iot_u32 which = BPF_CORE_READ(attributes, ia_valid);
  struct iot_span* span =
      vfs_begin(task, kind, arguments, vfs_file_of_dentry(task, arguments->at[1]));
  if (!span)
    return 0;
  span->flags = which;
  span->reserved = which & IOT_attribute_ATTR_MODE ? BPF_CORE_READ(attributes, ia_mode) : 0;
  span->offset =
      which & IOT_attribute_ATTR_SIZE ? BPF_CORE_READ(attributes, ia_size) : IOT_OFFSET_NONE;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_setattr(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_setattr* record = VFS_RESERVE(vfs_setattr, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->size = span->offset;
  record->result = vfs_status(result);
  record->file = span->file;
  record->attributes = span->flags;
  record->mode = span->reserved;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(notify_change, 0, IOT_KIND_vfs_setattr, begin_setattr, end_setattr)

/* do_truncate(mount, dentry, length), vfs_fallocate(file, mode, begin, length) */
static __always_inline int begin_truncate(const struct vfs_arguments* arguments, iot_u32 kind,
                                          iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const int is_range = call == IOT_vfs_call_vfs_fallocate;
  const iot_u32 file = is_range ? iot_file_of(task, (const void*)arguments->at[0])
                                : vfs_file_of_dentry(task, arguments->at[1]);
  struct iot_span* span = vfs_begin(task, kind, arguments, file);
  if (!span)
    return 0;
  span->flags = call;
  span->reserved = is_range ? (iot_u32)arguments->at[1] : 0;
  span->offset = is_range ? (iot_s64)arguments->at[2] : IOT_OFFSET_NONE;
  span->bytes = is_range ? arguments->at[3] : arguments->at[2];
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_truncate(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_truncate* record = VFS_RESERVE(vfs_truncate, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->offset = span->offset;
  record->bytes = span->bytes;
  record->result = vfs_status(result);
  record->file = span->file;
  record->mode = span->reserved;
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(do_truncate, IOT_vfs_call_do_truncate, IOT_KIND_vfs_truncate, begin_truncate,
             end_truncate)
VFS_PROGRAMS(vfs_fallocate, IOT_vfs_call_vfs_fallocate, IOT_KIND_vfs_truncate, begin_truncate,
             end_truncate)

/*
 * vfs_listxattr(dentry, list, room). The others have (mount, dentry, name), and vfs_setxattr and
 * vfs_getxattr also (value, length).
 */
static __always_inline int begin_xattr(const struct vfs_arguments* arguments, iot_u32 kind,
                                       iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const int is_list = call == IOT_vfs_call_vfs_listxattr;
  const int has_value = call == IOT_vfs_call_vfs_setxattr || call == IOT_vfs_call_vfs_getxattr;
  const iot_u32 file = vfs_file_of_dentry(task, is_list ? arguments->at[0] : arguments->at[1]);
  const iot_u32 name = is_list ? 0 : iot_string_of_kernel(arguments->at[2]);
  struct iot_span* span = vfs_begin(task, kind, arguments, file);
  if (!span)
    return 0;
  span->flags = call;
  span->reserved = name;
  span->bytes = is_list ? arguments->at[2] : has_value ? arguments->at[4] : 0;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_xattr(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_xattr* record = VFS_RESERVE(vfs_xattr, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->bytes_requested = span->bytes;
  record->result = vfs_status(result);
  record->file = span->file;
  record->name = span->reserved;
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_setxattr, IOT_vfs_call_vfs_setxattr, IOT_KIND_vfs_xattr, begin_xattr, end_xattr)
VFS_PROGRAMS(vfs_getxattr, IOT_vfs_call_vfs_getxattr, IOT_KIND_vfs_xattr, begin_xattr, end_xattr)
VFS_PROGRAMS(vfs_listxattr, IOT_vfs_call_vfs_listxattr, IOT_KIND_vfs_xattr, begin_xattr, end_xattr)
VFS_PROGRAMS(vfs_removexattr, IOT_vfs_call_vfs_removexattr, IOT_KIND_vfs_xattr, begin_xattr,
             end_xattr)
VFS_PROGRAMS(vfs_set_acl, IOT_vfs_call_vfs_set_acl, IOT_KIND_vfs_xattr, begin_xattr, end_xattr)
VFS_PROGRAMS(vfs_get_acl, IOT_vfs_call_vfs_get_acl, IOT_KIND_vfs_xattr, begin_xattr, end_xattr)
VFS_PROGRAMS(vfs_remove_acl, IOT_vfs_call_vfs_remove_acl, IOT_KIND_vfs_xattr, begin_xattr,
             end_xattr)

/* iterate_dir(file, context) */
static __always_inline int begin_readdir(const struct vfs_arguments* arguments, iot_u32 kind,
                                         iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct file* file = (const void*)arguments->at[0];
  struct iot_span* span = vfs_begin(task, kind, arguments, iot_file_of(task, file));
  if (!span)
    return 0;
  span->offset = BPF_CORE_READ(file, f_pos);
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_readdir(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_readdir* record = VFS_RESERVE(vfs_readdir, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->offset = span->offset;
  record->result = vfs_status(result);
  record->file = span->file;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(iterate_dir, 0, IOT_KIND_vfs_readdir, begin_readdir, end_readdir)

/* All have (file read, position, file written, position, bytes, flags). */
static __always_inline int begin_copy(const struct vfs_arguments* arguments, iot_u32 kind,
                                      iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const iot_u32 from = iot_file_of(task, (const void*)arguments->at[0]);
  const iot_u32 to = iot_file_of(task, (const void*)arguments->at[2]);
  struct iot_span* span = vfs_begin(task, kind, arguments, from);
  if (!span)
    return 0;
  span->flags = call;
  span->reserved = to;
  span->offset = (iot_s64)arguments->at[1];
  span->detail = arguments->at[3];
  span->bytes = arguments->at[4];
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_copy(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  if (ended.span && !iot_file_wanted(ended.span->file))
    ended.chosen_by = ended.span->reserved;
  struct iot_vfs_copy* record = VFS_RESERVE(vfs_copy, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->in_offset = span->offset;
  record->out_offset = (iot_s64)span->detail;
  record->bytes_requested = span->bytes;
  record->result = visible_result(result);
  record->in_file = span->file;
  record->out_file = span->reserved;
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_copy_file_range, IOT_vfs_call_vfs_copy_file_range, IOT_KIND_vfs_copy, begin_copy,
             end_copy)
VFS_PROGRAMS(vfs_clone_file_range, IOT_vfs_call_vfs_clone_file_range, IOT_KIND_vfs_copy, begin_copy,
             end_copy)
VFS_PROGRAMS(vfs_dedupe_file_range_one, IOT_vfs_call_vfs_dedupe_file_range_one, IOT_KIND_vfs_copy,
             begin_copy, end_copy)

/*
 * filp_flush(file, owner of its locks), before 6.6 a part of filp_close(file, owner). It is called
 * by close(), by other ways to close (dup2, close_range, exec, exit), and for files that the kernel
 * has opened for itself.
 */
static __always_inline int begin_flush(const struct vfs_arguments* arguments, iot_u32 kind,
                                       iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct file* file = (const void*)arguments->at[0];
  struct iot_span* span = vfs_begin(task, kind, arguments, iot_file_of(task, file));
  if (!span)
    return 0;
  span->flags = BPF_CORE_READ(file, f_op, flush) ? 1 : 0;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_flush(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_flush* record = VFS_RESERVE(vfs_flush, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->result = vfs_status(result);
  record->file = span->file;
  record->has_work = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(filp_flush, 0, IOT_KIND_vfs_flush, begin_flush, end_flush)
VFS_PROGRAMS(filp_close, 0, IOT_KIND_vfs_flush, begin_flush, end_flush)
