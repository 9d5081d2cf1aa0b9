/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The first sight of a file: it gets a local id, and its path is sent to the collector.
 */
#include "track/file.bpf.h"
#include "out/message.bpf.h"
#include "track/climb.bpf.h"
#include "track/named_path.bpf.h"

iot_u32 last_file_id;
struct iot_file_ages file_ages;

/* Appends a name of a path. Returns 1 at its end. `room`, a constant: bytes of names that fit before the last one. */
static __always_inline long walk_step(struct iot_message_file* message, const iot_u32 room) {
  const struct dentry* dentry = (const struct dentry*)message->walk[0];
  const enum climb step = climb(message->walk);
  if (step == IS_ACROSS)
    return 0;
  if (step == AT_ROOT || step == AT_TOP_OF_FILE_SYSTEM) {
    message->walk_end = step == AT_ROOT ? IOT_WALK_ROOT : IOT_WALK_FILE_SYSTEM;
    return 1;
  }
  const iot_u32 at = message->header.bytes;
  if (at > room)
    return 1;
  const long length = bpf_probe_read_kernel_str(&message->names[at], IOT_NAME_BYTES,
                                                BPF_CORE_READ(dentry, d_name.name));
  if (length <= 0)
    return 1;
  message->header.bytes = at + (iot_u32)length;
  if (step == IS_ALONE)
    message->walk_end = IOT_WALK_ALONE;
  return step == IS_ALONE;
}

struct walk {
  struct iot_message_file* message;
};

/* Most paths are short: reserve little first, and much only for a path that does not fit. */
#define IOT_SHORT_PATH 256

static long walk_short(iot_u32 index, struct walk* walk) {
  return walk_step(walk->message, IOT_SHORT_PATH);
}
static long walk_long(iot_u32 index, struct walk* walk) {
  return walk_step(walk->message, IOT_PATH_BYTES);
}

/* The start of the way up from a file; at[0] is 0 if it has no name. */
static __always_inline void begin_climb(iot_u64* at, const struct iot_file_sight* sight) {
  const struct file* file = (const struct file*)sight->file;
  if (file) {
    at[0] = (iot_u64)BPF_CORE_READ(file, f_path.dentry);
    at[1] = (iot_u64)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
    return;
  }
  const struct inode* inode = (const struct inode*)sight->inode;
  const iot_u64 alias = (iot_u64)BPF_CORE_READ(inode, i_dentry.first);
  at[0] = alias ? alias - bpf_core_field_offset(struct dentry, d_u.d_alias) : 0;
  at[1] = 0;
}

/* The path from a file up to the root of the mount tree, or of the file system. */
static __always_inline void begin_walk(struct iot_message_file* message,
                                       const struct iot_file_sight* sight) {
  const struct inode* inode = (const struct inode*)sight->inode;
  message->inode = sight->key.inode;
  message->device = sight->key.device;
  message->generation = sight->key.generation;
  message->mode = BPF_CORE_READ(inode, i_mode);
  message->magic = (iot_u32)BPF_CORE_READ(inode, i_sb, s_magic);
  message->walk_end = IOT_WALK_CUT;
  message->links = BPF_CORE_READ(inode, i_nlink);
  begin_climb(message->walk, sight);
}

enum sent { SENT, NO_ROOM, IS_LONG };

/* `is_short` is a constant. */
static __always_inline enum sent send_path(iot_u32 id, const struct iot_file_sight* sight,
                                           const int is_short) {
  const iot_u32 room = is_short ? IOT_SHORT_PATH : IOT_PATH_BYTES;
  struct walk walk = {.message = reserve_message(
                          IOT_MESSAGE_FILE, __builtin_offsetof(struct iot_message_file, names) +
                                                room + IOT_NAME_BYTES)};
  if (!walk.message)
    return NO_ROOM;
  begin_walk(walk.message, sight);
  walk.message->header.id = id;
  if (walk.message->walk[0])
    bpf_loop(IOT_PATH_DEPTH, is_short ? walk_short : walk_long, &walk, 0);
  if (is_short && walk.message->walk_end == IOT_WALK_CUT && walk.message->header.bytes > room) {
    bpf_ringbuf_discard(walk.message, BPF_RB_NO_WAKEUP);
    return IS_LONG;
  }
  bpf_ringbuf_submit(walk.message, BPF_RB_NO_WAKEUP);
  return SENT;
}

static __always_inline enum sent send_any_path(iot_u32 id, const struct iot_file_sight* sight) {
  const enum sent sent = send_path(id, sight, 1);
  return sent == IS_LONG ? send_path(id, sight, 0) : sent;
}

/* The way up from a file to the first directory that the filter names. */
struct folder_search {
  iot_u64 at[2];
  iot_u32 verdict; /* of that directory; 0: not found yet */
  iot_u32 reserved;
};

static __always_inline iot_u32 verdict_on_inode(const struct inode* inode) {
  struct iot_file_key key = {};
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  return IOT_VERDICT(wanted_files, &key);
}

/*
 * Of a file itself: its inode number may have belonged to another one before. Not inline, since its
 * keys would lie on the stack below the search for a folder.
 */
static __noinline iot_u32 verdict_on_file(const struct iot_file_sight* sight) {
  const struct iot_file_key key = sight->key;
  const iot_u32 verdict = IOT_VERDICT(wanted_files, &key);
  return verdict ? verdict : verdict_on_inode((const struct inode*)sight->inode);
}

static long search_step(iot_u32 index, struct folder_search* search) {
  const struct dentry* dentry = (const struct dentry*)search->at[0];
  search->verdict = verdict_on_inode(BPF_CORE_READ(dentry, d_inode));
  if (search->verdict)
    return 1;
  const enum climb step = climb(search->at);
  return step != CLIMBED && step != IS_ACROSS;
}

static __always_inline iot_u32 verdict_on_folder(const struct iot_file_sight* sight) {
  struct folder_search search = {};
  begin_climb(search.at, sight);
  if (search.at[0])
    bpf_loop(IOT_FOLDER_DEPTH, search_step, &search, 0);
  return search.verdict;
}

static __always_inline int is_filtered_out(const struct iot_file_sight* sight) {
  if (!iot_file_system_wanted(sight->key.device))
    return 1;
  if (!FILTERS_FILES)
    return 0;
  iot_u32 verdict = verdict_on_file(sight);
  if (!verdict && iot_config.named_paths)
    verdict = iot_verdict_on_name(sight->file);
  if (!verdict && iot_config.filter_folders)
    verdict = verdict_on_folder(sight);
  return !iot_is_good(verdict, iot_config.filter_files);
}

static __always_inline int is_pseudo(const struct iot_file_sight* sight) {
  const struct inode* inode = (const struct inode*)sight->inode;
  switch ((iot_u32)BPF_CORE_READ(inode, i_sb, s_magic)) {
#define PSEUDO(type, magic) case magic:
#include "pseudo_file_systems.def"
    return 1;
  default:
    return 0;
  }
}

/* Not 0, which stands for no file: the numbers begin again at 1. A call keeps the stack small. */
static __noinline iot_u32 next_file_id(void) {
  const iot_u32 id = (__sync_fetch_and_add(&last_file_id, 1) + 1) & IOT_FILE_NUMBER;
  return id ? id : (__sync_fetch_and_add(&last_file_id, 1) + 1) & IOT_FILE_NUMBER;
}

/* Of a file that the filter includes although it has no number: its path was lost, its events are not. */
#define NAMELESS (FILTERS_ANY ? IOT_FILE_NAMELESS : 0)

/*
 * The path is sent before others can find the id, so that no record has an id without a path. Two
 * CPUs may send the same file under two ids; one of the ids is then never used. The path of an
 * excluded file is not sent: only the records of iot_file_tell() name it.
 */
__noinline iot_u32 iot_file_register(const struct iot_file_sight* sight) {
  if (!sight)
    return 0;
  const struct iot_file_key key = sight->key;
  iot_u32 known = find_file(&key);
  if (known)
    return known & ~IOT_FILE_TOLD;
  iot_u32 id = next_file_id();
  if (is_filtered_out(sight))
    id |= IOT_FILE_UNWANTED;
  else if (iot_config.excludes_pseudo && is_pseudo(sight))
    id |= IOT_FILE_MARKS;
  else if (send_any_path(id, sight) != SENT)
    return NAMELESS;
  if (remember_file(&key, id))
    return id;
  known = find_file(&key);
  if (known)
    return known & ~IOT_FILE_TOLD;
  iot_count(IOT_COUNTER_kernel_file_unknown);
  return id & IOT_FILE_UNWANTED ? id : NAMELESS;
}

/*
 * A file that the filter excluded under its former name, and that was opened by a path which the
 * filter includes, is a new file from then on.
 */
__noinline iot_u32 iot_file_by_new_name(iot_s32 fd) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (!task || !file)
    return 0;
  const struct inode* inode = BPF_CORE_READ(file, f_inode);
  struct iot_file_sight sight = {.inode = (iot_u64)inode, .file = (iot_u64)file};
  sight.key.inode = BPF_CORE_READ(inode, i_ino);
  sight.key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  sight.key.generation = BPF_CORE_READ(inode, i_generation);
  iot_u32 id = find_file(&sight.key);
  if ((id & IOT_FILE_MARKS) == IOT_FILE_UNWANTED && !is_filtered_out(&sight)) {
    id = next_file_id();
    (void)send_any_path(id, &sight); /* its events are wanted without a path, too */
    mark_file(&sight.key, id);
  }
  struct iot_cached_file* cached = &task->files[sight.key.inode & (IOT_TASK_FILES - 1)];
  if (cached->inode == sight.key.inode && cached->device == sight.key.device)
    cached->file = id & ~IOT_FILE_TOLD;
  /* Also if the kernel used the same descriptor and the same memory for the former name. */
  task->fds[(iot_u32)fd & (IOT_TASK_FDS - 1)].file_pointer = 0;
  return id & ~IOT_FILE_TOLD;
}

__noinline iot_u32 iot_find_file(const struct iot_file_key* key) {
  if (!key)
    return 0;
  const struct iot_file_key own = *key; /* Linux 6.1 allows no other key in memory */
  return find_file(&own);
}

__noinline int iot_file_tell(const struct iot_file_sight* seen, iot_u32 is_program) {
  if (!seen)
    return 0;
  const struct file* file = (const struct file*)seen->file;
  const struct inode* inode = BPF_CORE_READ(file, f_inode);
  struct iot_file_sight sight = {.inode = (iot_u64)inode, .file = seen->file};
  sight.key.inode = BPF_CORE_READ(inode, i_ino);
  sight.key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  sight.key.generation = BPF_CORE_READ(inode, i_generation);
  const iot_u32 known = find_file(&sight.key);
  if (!(known & IOT_FILE_UNWANTED))
    return 0;
  if (is_program)
    send_any_path(known & ~IOT_FILE_TOLD, &sight);
  else if (!(known & IOT_FILE_TOLD) && send_any_path(known & ~IOT_FILE_MARKS, &sight) == SENT)
    mark_file(&sight.key, known | IOT_FILE_TOLD);
  return 0;
}

/* Global: the verifier checks the identification of a file once. */
__noinline int iot_cache_fd(iot_s32 fd) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  struct file* file = iot_typed_file_of_fd(fd);
  if (!task || !file)
    return 0;
  struct iot_cached_fd* cached = &task->fds[(iot_u32)fd & (IOT_TASK_FDS - 1)];
  struct inode* inode = file->f_inode;
  cached->file = iot_identify(task, inode, file, 1);
  cached->fd = fd;
  cached->file_pointer = (iot_u64)file;
  cached->inode_pointer = (iot_u64)inode;
  cached->inode = inode->i_ino;
  cached->generation = inode->i_generation;
  cached->flags = fd_flags_of(file->f_mode, inode->i_mode);
  return 1;
}

__noinline iot_u32 iot_file_of_fd(iot_s32 fd) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  if (!task)
    return 0;
  if (!iot_config.has_cast) {
    struct file* small = iot_small_file_of_fd(fd);
    if (small)
      return iot_identify(task, small->f_inode, small, 1);
  }
  const iot_u64 file = iot_file_pointer_of_fd(fd);
  return file ? iot_file_of(task, (const void*)file) : 0;
}

struct mapped {
  iot_u64 file; /* struct file */
  iot_u64 begin;
  iot_u64 first_page; /* of the file */
};

static long see_mapped(struct task_struct* task, struct vm_area_struct* area,
                       struct mapped* mapped) {
  mapped->file = (iot_u64)BPF_CORE_READ(area, vm_file);
  mapped->begin = BPF_CORE_READ(area, vm_start);
  mapped->first_page = BPF_CORE_READ(area, vm_pgoff);
  return 0;
}

__noinline int iot_find_file_at(iot_u64 address) {
  struct task_struct* current = bpf_get_current_task_btf();
  struct iot_task* task = iot_busy(current);
  if (!task)
    return 0;
  task->entry_file = 0;
  task->entry_offset = IOT_OFFSET_NONE;
  struct mapped mapped = {};
  if (bpf_find_vma(current, address, see_mapped, &mapped, 0) == -EBUSY)
    iot_count(IOT_COUNTER_kernel_map_unread);
  if (!mapped.file)
    return 0;
  task->entry_file = iot_file_of(task, (const void*)mapped.file);
  task->entry_offset = (iot_s64)(address - mapped.begin + (mapped.first_page << IOT_PAGE_SHIFT));
  return 0;
}
