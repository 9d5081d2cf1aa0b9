/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Maps, configuration, and the parts of core.bpf.h that run rarely: first sight of a task or a file, texts.
 */
#include "core.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

const volatile struct io_config io_config = {};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IO_FILE_LIMIT);
  __type(key, struct io_file_key);
  __type(value, io_u32);
} files SEC(".maps");

/* Filters: the loader fills them before the start. Generation 0 in wanted_files: any. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct io_file_key);
  __type(value, io_u32);
} wanted_files SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, io_u32);
  __type(value, io_u32);
} wanted_devices SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, io_u32);
  __type(value, io_u32);
} wanted_file_systems SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1 << 20);
  __type(key, io_u32);
  __type(value, io_u32);
} adopted_pids SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, 16);
  __type(key, io_u32);
  __type(value, io_u32);
} adopted_cgroups SEC(".maps");
#define IO_CGROUP_LIMIT 16

io_u32 last_file_id;
io_u32 last_text_id;
io_u32 is_started; /* before, only what the loader put into `task_slots` is traced */

io_u32 io_count(io_u32 counter) {
  io_u32 zero = 0;
  struct io_counter_values* own = bpf_map_lookup_elem(&counters, &zero);
  if (own)
    __sync_fetch_and_add(&own->value[counter & (IO_COUNTER_LIMIT - 1)], 1);
  return 0;
}

io_u64 io_new_op_block(io_u32 cpu) {
  struct io_cpu* own = bpf_map_lookup_elem(&cpus, &cpu);
  if (!own)
    return 0;
  const io_u64 block = __sync_fetch_and_add(&own->next_op_block, 1);
  return (io_u64)cpu << IO_OP_MAKER_SHIFT | (block * IO_OP_BLOCK + 1);
}

static __always_inline int is_adopted(io_u32 tgid) {
  if (!is_started || tgid == io_config.recorder_tgid)
    return 0;
  if (io_config.adopt_all)
    return 1;
  if (io_config.adopt_pids && bpf_map_lookup_elem(&adopted_pids, &tgid))
    return 1;
  if (io_config.adopt_cgroups)
    for (io_u32 index = 0; index < IO_CGROUP_LIMIT; ++index)
      if (bpf_current_task_under_cgroup(&adopted_cgroups, index) == 1)
        return 1;
  return 0;
}

/* Makes the task traced. Static to the verifier, which then knows what the pointer returned points to. */
static __noinline struct io_task* io_claim(struct task_struct* task) {
  const io_u32 tid = (io_u32)task->pid;
  struct io_task* own = io_slot_of(tid);
  if (!own)
    return 0;
  const io_u32 owner = own->tid;
  const int is_free = owner == 0 || own->is_dead;
  if (!is_free || __sync_val_compare_and_swap(&own->tid, owner, tid) != owner) {
    own->is_shared = 1;
    own = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!own) {
      io_count(IO_COUNTER_kernel_task_untracked);
      return 0;
    }
  }
  /* What is left of an earlier task, files and numbers of operations, is as good for this one. */
  own->tid = tid;
  own->pid = (io_u32)task->tgid;
  own->op_id = 0;
  own->group_exited = 0;
  own->span_depth = 0;
  own->is_dead = 0;
  own->start_time = task->start_time;
  return own;
}

static __noinline struct io_task* io_current_slow(struct task_struct* current) {
  struct io_task* slot = io_slot_of((io_u32)current->pid);
  if (slot && slot->is_shared) {
    if (slot->tid == (io_u32)current->pid && !slot->start_time) { /* put there by the loader */
      if (slot->awaits_exec)
        return 0;
      slot->start_time = current->start_time;
      return slot;
    }
    struct io_task* own = bpf_task_storage_get(&tasks, current, 0, 0);
    if (own)
      return own;
  }
  return is_adopted((io_u32)current->tgid) ? io_claim(current) : 0;
}

io_u32 io_device_wanted_slow(io_u32 device) {
  return bpf_map_lookup_elem(&wanted_devices, &device) != 0;
}

/*
 * One step of the walk: appends a name, or crosses to the mount above. Returns 0 at its end. What it works on lies in
 * the message, not in registers: there the verifier forgets it, and so checks each step alike instead of each history.
 * Not inlined: kernel 6.1 refuses a loop that its walk over the code enters in the middle ("back-edge").
 */
static __noinline int walk_step(struct io_text_file* text) {
  const struct dentry* dentry = (const struct dentry*)text->walk[0];
  const struct mount* mount = (const struct mount*)text->walk[1];
  const struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  const struct dentry* root = 0;
  const struct mount* above = 0;
  if (mount) {
    root = BPF_CORE_READ(mount, mnt.mnt_root);
    above = BPF_CORE_READ(mount, mnt_parent);
  }
  if (dentry == root || dentry == parent) {
    if (!mount || above == mount) {
      text->walk_end = mount ? IO_WALK_ROOT : IO_WALK_FILE_SYSTEM;
      return 0;
    }
    text->walk[0] = (io_u64)BPF_CORE_READ(mount, mnt_mountpoint);
    text->walk[1] = (io_u64)above;
    return 1;
  }
  const io_u32 at = text->text.bytes;
  if (at > IO_PATH_BYTES)
    return 0;
  const long length = bpf_probe_read_kernel_str(&text->names[at], IO_NAME_BYTES,
                                                BPF_CORE_READ(dentry, d_name.name));
  if (length <= 0)
    return 0;
  text->text.bytes = at + (io_u32)length;
  text->walk[0] = (io_u64)parent;
  return 1;
}

/* Writes the components from `dentry` up to the root of the mount tree (mount == 0: of the file system). */
static __always_inline void walk_path(struct io_text_file* text, io_u64 dentry, io_u64 mount) {
  text->walk[0] = dentry;
  text->walk[1] = mount;
  for (int depth = 0; depth < IO_PATH_DEPTH; ++depth)
    if (!walk_step(text))
      break;
}

/* False: there was no room. */
static __always_inline int send_file(io_u32 id, const struct io_file_sight* sight) {
  const struct inode* inode = (const struct inode*)sight->inode;
  const struct file* file = (const struct file*)sight->file;
  struct io_text_file* text = bpf_ringbuf_reserve(&texts, sizeof(*text), 0);
  if (!text)
    return 0;
  text->text.type = IO_TEXT_FILE;
  text->text.id = id;
  text->text.bytes = 0;
  text->inode = sight->key.inode;
  text->device = sight->key.device;
  text->generation = sight->key.generation;
  text->mode = BPF_CORE_READ(inode, i_mode);
  text->magic = (io_u32)BPF_CORE_READ(inode, i_sb, s_magic);
  text->walk_end = IO_WALK_CUT;
  text->reserved = 0;
  if (file) {
    walk_path(text, (io_u64)BPF_CORE_READ(file, f_path.dentry),
              (io_u64)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt));
  } else {
    const io_u64 alias = (io_u64)BPF_CORE_READ(inode, i_dentry.first);
    if (alias)
      walk_path(text, alias - bpf_core_field_offset(struct dentry, d_u.d_alias), 0);
  }
  bpf_ringbuf_submit(text, BPF_RB_NO_WAKEUP);
  return 1;
}

static __always_inline int is_file_filtered_out(const struct io_file_key* key) {
  if (io_config.filter_devices && !bpf_map_lookup_elem(&wanted_file_systems, &key->device))
    return 1;
  if (!io_config.filter_files)
    return 0;
  const struct io_file_key any = {.inode = key->inode, .device = key->device};
  return !bpf_map_lookup_elem(&wanted_files, &any);
}

/*
 * The text goes out before the id can be found by others, so that no record carries an id whose text is still to
 * come. Two CPUs may send the same file under two ids: one is then never used.
 */
io_u32 io_file_register(const struct io_file_sight* sight) {
  if (!sight)
    return 0;
  const struct io_file_key key = sight->key;
  const io_u32* known = bpf_map_lookup_elem(&files, &key);
  if (known)
    return *known;
  io_u32 id = __sync_fetch_and_add(&last_file_id, 1) + 1;
  if (!send_file(id, sight)) {
    io_count(IO_COUNTER_kernel_text_full);
    return 0;
  }
  if (is_file_filtered_out(&key))
    id |= IO_FILE_UNWANTED;
  if (bpf_map_update_elem(&files, &key, &id, BPF_NOEXIST) == 0)
    return id;
  known = bpf_map_lookup_elem(&files, &key);
  if (known)
    return *known;
  io_count(IO_COUNTER_kernel_file_unknown);
  return 0;
}

io_u32 io_file_known(io_u64 inode_pointer) {
  const struct inode* inode = (const struct inode*)inode_pointer;
  struct io_file_key key = {};
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  key.generation = BPF_CORE_READ(inode, i_generation);
  const io_u32* known = bpf_map_lookup_elem(&files, &key);
  return known ? *known : 0;
}

/* Most paths are short: a small reservation first, a large one for those that do not fit it. */
#define IO_SHORT_TEXT 256
struct short_text {
  struct io_text text;
  char string[IO_SHORT_TEXT];
};

#define SEND_STRING(struct_type, limit, read, from, is_cut)                                        \
  ({                                                                                               \
    io_u32 id_ = 0;                                                                                \
    struct struct_type* text_ = bpf_ringbuf_reserve(&texts, sizeof(*text_), 0);                    \
    if (!text_) {                                                                                  \
      io_count(IO_COUNTER_kernel_text_full);                                                       \
    } else {                                                                                       \
      const long length_ = read(text_->string, limit, (const void*)(from));                        \
      is_cut = length_ == limit;                                                                   \
      if (length_ <= 1 || ((limit) < IO_PATH_BYTES && is_cut)) {                                   \
        if (length_ < 0)                                                                           \
          io_count(IO_COUNTER_kernel_path_unread);                                                 \
        bpf_ringbuf_discard(text_, BPF_RB_NO_WAKEUP);                                              \
      } else {                                                                                     \
        id_ = __sync_fetch_and_add(&last_text_id, 1) + 1;                                          \
        text_->text.type = IO_TEXT_STRING;                                                         \
        text_->text.id = id_;                                                                      \
        text_->text.bytes = (io_u32)length_;                                                       \
        bpf_ringbuf_submit(text_, BPF_RB_NO_WAKEUP);                                               \
      }                                                                                            \
    }                                                                                              \
    id_;                                                                                           \
  })

io_u32 io_text_of_user(io_u64 string) {
  int is_cut = 0;
  const io_u32 id = SEND_STRING(short_text, IO_SHORT_TEXT, bpf_probe_read_user_str, string, is_cut);
  if (!is_cut)
    return id;
  return SEND_STRING(io_text_string, IO_PATH_BYTES, bpf_probe_read_user_str, string, is_cut);
}

io_u32 io_text_of_kernel(io_u64 string) {
  int is_cut = 0;
  const io_u32 id =
      SEND_STRING(short_text, IO_SHORT_TEXT, bpf_probe_read_kernel_str, string, is_cut);
  if (!is_cut)
    return id;
  return SEND_STRING(io_text_string, IO_PATH_BYTES, bpf_probe_read_kernel_str, string, is_cut);
}
