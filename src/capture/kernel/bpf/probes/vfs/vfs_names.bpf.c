/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The virtual file system: names that are made, changed, removed and looked up. The name and the
 * directory of a dentry are read at the entry: a rename changes both.
 */
#include "probes/vfs/vfs.bpf.h"

/* Two ids in one number of a span. */
static __always_inline iot_u64 vfs_pair(iot_u32 high, iot_u32 low) {
  return (iot_u64)high << 32 | low;
}

/* The directory that a dentry is in, and its name there. */
static __always_inline iot_u64 vfs_place_of(struct iot_task* task, iot_u64 dentry) {
  const struct dentry* own = (const void*)dentry;
  const iot_u32 directory = vfs_file_of_dentry(task, (iot_u64)BPF_CORE_READ(own, d_parent));
  return vfs_pair(directory, iot_string_of_kernel((iot_u64)BPF_CORE_READ(own, d_name.name)));
}

/* `detail`: the dentry; `bytes`: its place; `flags`: the function; `reserved`: the mode; `offset`: a target. */
static __always_inline struct iot_span* begin_name(struct iot_task* task, iot_u32 kind,
                                                   iot_u32 call,
                                                   const struct vfs_arguments* arguments,
                                                   iot_u64 dentry) {
  const iot_u32 file = vfs_file_of_dentry(task, dentry);
  const iot_u64 place = vfs_place_of(task, dentry);
  struct iot_span* span = vfs_begin(task, kind, arguments, file);
  if (!span)
    return 0;
  span->detail = dentry;
  span->bytes = place;
  span->flags = call;
  span->reserved = 0;
  span->offset = 0;
  span->start_ns = bpf_ktime_get_ns();
  return span;
}

/* Sets the fields of all events of names, which begin_name() has left in the span. */
#define DESCRIBE_NAME(record, span, returned)                                                      \
  do {                                                                                             \
    (record)->result = vfs_status(returned);                                                       \
    (record)->file = (span)->file;                                                                 \
    (record)->directory = (iot_u32)((span)->bytes >> 32);                                          \
    (record)->name = (iot_u32)(span)->bytes;                                                       \
  } while (0)

/* An inode that did not exist at the entry. */
static __always_inline struct vfs_ended end_new_name(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_span* span = ended.span;
  if (span && !span->file && vfs_status(result) == 0) {
    const iot_u64 dentry = vfs_is_pointer(result) ? (iot_u64)result : span->detail;
    span->file = vfs_file_of_dentry(ended.task, dentry);
    ended.chosen_by = span->file;
  }
  return ended;
}

/* vfs_unlink, vfs_rmdir(mount, directory, dentry) */
static __always_inline int begin_unlink(const struct vfs_arguments* arguments, iot_u32 kind,
                                        iot_u32 call) {
  struct iot_task* task = iot_current();
  if (task)
    begin_name(task, kind, call, arguments, arguments->at[2]);
  return 0;
}

static __always_inline int end_unlink(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_unlink* record = VFS_RESERVE(vfs_unlink, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  DESCRIBE_NAME(record, span, result);
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_unlink, IOT_vfs_call_vfs_unlink, IOT_KIND_vfs_unlink, begin_unlink, end_unlink)
VFS_PROGRAMS(vfs_rmdir, IOT_vfs_call_vfs_rmdir, IOT_KIND_vfs_unlink, begin_unlink, end_unlink)

/* vfs_mkdir, vfs_mknod, vfs_create(mount, directory, dentry, mode) */
static __always_inline int begin_mkdir(const struct vfs_arguments* arguments, iot_u32 kind,
                                       iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span = begin_name(task, kind, call, arguments, arguments->at[2]);
  if (span)
    span->reserved = (iot_u16)arguments->at[3];
  return 0;
}

static __always_inline int end_mkdir(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = end_new_name(kind, object, result);
  struct iot_vfs_mkdir* record = VFS_RESERVE(vfs_mkdir, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  DESCRIBE_NAME(record, span, result);
  record->mode = span->reserved;
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_mkdir, IOT_vfs_call_vfs_mkdir, IOT_KIND_vfs_mkdir, begin_mkdir, end_mkdir)
VFS_PROGRAMS(vfs_mknod, IOT_vfs_call_vfs_mknod, IOT_KIND_vfs_mkdir, begin_mkdir, end_mkdir)
VFS_PROGRAMS(vfs_create, IOT_vfs_call_vfs_create, IOT_KIND_vfs_mkdir, begin_mkdir, end_mkdir)

/* vfs_link(old dentry, mount, directory, new dentry), vfs_symlink(mount, directory, dentry, target) */
static __always_inline int begin_link(const struct vfs_arguments* arguments, iot_u32 kind,
                                      iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const int is_symbolic = call == IOT_vfs_call_vfs_symlink;
  const iot_u32 target = is_symbolic ? iot_string_of_kernel(arguments->at[3]) : 0;
  const iot_u32 linked = is_symbolic ? 0 : vfs_file_of_dentry(task, arguments->at[0]);
  struct iot_span* span =
      begin_name(task, kind, call, arguments, is_symbolic ? arguments->at[2] : arguments->at[3]);
  if (!span)
    return 0;
  span->offset = target;
  if (linked)
    span->file = linked;
  return 0;
}

static __always_inline int end_link(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = end_new_name(kind, object, result);
  struct iot_vfs_link* record = VFS_RESERVE(vfs_link, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  DESCRIBE_NAME(record, span, result);
  record->target = (iot_u32)span->offset;
  record->call = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_link, IOT_vfs_call_vfs_link, IOT_KIND_vfs_link, begin_link, end_link)
VFS_PROGRAMS(vfs_symlink, IOT_vfs_call_vfs_symlink, IOT_KIND_vfs_link, begin_link, end_link)

struct renamedata {
  struct dentry* old_dentry;
  struct dentry* new_dentry;
  unsigned int flags;
} __attribute__((preserve_access_index));

/*
 * vfs_rename(description). `bytes`: the old place; `detail`: the new one; `offset`: the former
 * owner of the new name.
 */
static __always_inline int begin_rename(const struct vfs_arguments* arguments, iot_u32 kind,
                                        iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct renamedata* rename = (const void*)arguments->at[0];
  const iot_u64 before = (iot_u64)BPF_CORE_READ(rename, old_dentry);
  const iot_u64 after = (iot_u64)BPF_CORE_READ(rename, new_dentry);
  const iot_u32 replaced = vfs_file_of_dentry(task, after);
  const iot_u64 new_place = vfs_place_of(task, after);
  struct iot_span* span = begin_name(task, kind, call, arguments, before);
  if (!span)
    return 0;
  span->detail = new_place;
  span->offset = replaced;
  span->flags = BPF_CORE_READ(rename, flags);
  return 0;
}

static __always_inline int end_rename(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_rename* record = VFS_RESERVE(vfs_rename, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  DESCRIBE_NAME(record, span, result);
  record->new_directory = (iot_u32)(span->detail >> 32);
  record->new_name = (iot_u32)span->detail;
  record->replaced = (iot_u32)span->offset;
  record->flags = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_rename, 0, IOT_KIND_vfs_rename, begin_rename, end_rename)

/* vfs_readlink(dentry, text, room) */
static __always_inline int begin_readlink(const struct vfs_arguments* arguments, iot_u32 kind,
                                          iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span =
      vfs_begin(task, kind, arguments, vfs_file_of_dentry(task, arguments->at[0]));
  if (!span)
    return 0;
  span->bytes = (iot_u32)arguments->at[2];
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_readlink(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_readlink* record = VFS_RESERVE(vfs_readlink, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->bytes_requested = span->bytes;
  record->result = vfs_status(result);
  record->file = span->file;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(vfs_readlink, 0, IOT_KIND_vfs_readlink, begin_readlink, end_readlink)

/*
 * inode_permission(mount, inode, asked): for every directory on the way to a name, and for the
 * object of an access(), which alone has this flag. Nested calls, of a file system below, are
 * counted in `reserved`.
 */
#define ASKED_BY_ACCESS 0x10
#define ASKED_MODES (IOT_access_R_OK | IOT_access_W_OK | IOT_access_X_OK)

static __always_inline struct iot_span* innermost_access(struct iot_task* task) {
  struct iot_span* span = iot_span_innermost(task);
  return span && span->kind == IOT_KIND_vfs_access ? span : 0;
}

static __always_inline int begin_access(const struct vfs_arguments* arguments, iot_u32 kind,
                                        iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const iot_u32 asked = (iot_u32)arguments->at[2];
  if (!(asked & ASKED_BY_ACCESS)) {
    struct iot_span* outer = innermost_access(task);
    if (outer)
      ++outer->reserved;
    return 0;
  }
  if (task->span_depth >= IOT_SPAN_DEPTH) { /* the end could not separate it from the others */
    iot_lose(IOT_COUNTER_kernel_span_lost);
    return 0;
  }
  const iot_u32 file = iot_file_of_inode(task, (const void*)arguments->at[1], 0);
  struct iot_span* span = vfs_begin(task, kind, arguments, file);
  if (!span)
    return 0;
  span->reserved = 0;
  span->flags = asked & ASKED_MODES;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_access(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct iot_task* task = iot_current();
  struct iot_span* innermost = task ? innermost_access(task) : 0;
  if (!innermost)
    return 0;
  if (innermost->reserved) {
    --innermost->reserved;
    return 0;
  }
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_access* record = VFS_RESERVE(vfs_access, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->result = vfs_status(result);
  record->file = span->file;
  record->mode = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

VFS_PROGRAMS(inode_permission, 0, IOT_KIND_vfs_access, begin_access, end_access)
