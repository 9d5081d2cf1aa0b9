/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The path that a call names, compared with the paths that the filter includes.
 */
#include "track/named_path.bpf.h"
#include "track/climb.bpf.h"
#include "track/file.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct iot_named_entry);
  __type(value, iot_u32);
} named_entries SEC(".maps");

__noinline iot_u32 iot_verdict_on_name(iot_u64 file) {
  if (!file)
    return 0;
  const struct dentry* dentry = BPF_CORE_READ((const struct file*)file, f_path.dentry);
  struct iot_named_entry key = {};
  key.inode = BPF_CORE_READ(dentry, d_parent, d_inode, i_ino);
  key.device = BPF_CORE_READ(dentry, d_parent, d_inode, i_sb, s_dev);
  key.name_hash = iot_config.name_seed;
  const unsigned char* const name = BPF_CORE_READ(dentry, d_name.name);
  for (iot_u32 index = 0; index < IOT_NAME_BYTES; ++index) { /* bpf_loop() needs more stack */
    char letter = 0;
    bpf_probe_read_kernel(&letter, 1, name + index);
    if (!letter)
      break;
    key.name_hash = IOT_NAME_HASH_STEP(key.name_hash, letter);
  }
  return IOT_VERDICT(named_entries, &key);
}

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, struct iot_named_path);
} named_paths SEC(".maps");
/* Number, plus 1, of the first path by the hash of its last name. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, iot_u64);
  __type(value, iot_u32);
} named_lasts SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, struct iot_named_directory);
  __type(value, iot_u32);
} named_directories SEC(".maps");

/*
 * The text of a call and the state of its comparison. In a map, since the verifier forgets what is
 * there, and so checks each step alike. Not in the ring `texts`: each call of each program on the
 * machine would use it up.
 */
struct named_text {
  iot_u32 is_used;
  iot_u32 reserved;
  iot_u64 hash;     /* of the name in progress */
  iot_u64 last;     /* of the last whole name */
  iot_u32 depth;    /* directories of the named path, from the root on; 0: the start is elsewhere */
  iot_u32 aside;    /* directories below these, that are not of the named path */
  iot_u32 at;       /* in the named path: what the next letter must be */
  iot_u32 letters;  /* of the name in progress */
  iot_u32 dots;     /* of these, dots */
  iot_u32 is_equal; /* until here */
  char text[IOT_NAMED_BYTES];
};

/* For a task, and for another that preempts it on this CPU. */
#define NAMED_TEXTS 2
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, NAMED_TEXTS);
  __type(key, iot_u32);
  __type(value, struct named_text);
} named_texts SEC(".maps");

struct named_call {
  struct named_text* text;
  const struct iot_named_path* named;
  iot_u32 number; /* of `named` plus 1; 0: no path is left */
  iot_s32 fd;
};

static long hash_text(iot_u32 index, struct named_call* call) {
  struct named_text* text = call->text;
  const char letter = text->text[index & (IOT_NAMED_BYTES - 1)];
  if (letter && letter != '/') {
    text->hash = IOT_NAME_HASH_STEP(text->hash, letter);
    return 0;
  }
  if (text->hash != iot_config.name_seed)
    text->last = text->hash;
  text->hash = iot_config.name_seed;
  return !letter;
}

static __always_inline void begin_component(struct named_text* text,
                                            const struct iot_named_path* named) {
  const iot_u32 depth = text->depth;
  text->letters = 0;
  text->dots = 0;
  text->is_equal = !text->aside && depth <= named->depth;
  text->at = named->begins[(depth - 1) & (IOT_NAMED_DEPTH - 1)];
}

static __always_inline void end_component(struct named_text* text,
                                          const struct iot_named_path* named) {
  const char next = named->path[text->at & (IOT_NAMED_BYTES - 1)];
  if (text->letters == text->dots && text->letters <= 1)
    return; /* none, or the directory itself */
  if (text->letters == 2 && text->dots == 2) {
    if (text->aside)
      --text->aside;
    else if (text->depth > 1)
      --text->depth;
  } else if (text->is_equal && (!next || next == '/')) {
    ++text->depth;
  } else {
    ++text->aside;
  }
}

static long compare_text(iot_u32 index, struct named_call* call) {
  struct named_text* text = call->text;
  const char letter = text->text[index & (IOT_NAMED_BYTES - 1)];
  if (!letter || letter == '/') {
    end_component(text, call->named);
    begin_component(text, call->named);
    return !letter;
  }
  if (call->named->path[text->at & (IOT_NAMED_BYTES - 1)] != letter)
    text->is_equal = 0;
  ++text->at;
  ++text->letters;
  if (letter == '.')
    ++text->dots;
  return 0;
}

/* The way up from the directory where a call begins to one above the named path. */
struct start_search {
  iot_u64 at[2];
  iot_u32 path;
  iot_u32 depth;
  iot_u32 aside;
  iot_u32 reserved;
};

static long search_start(iot_u32 index, struct start_search* search) {
  const struct dentry* dentry = (const struct dentry*)search->at[0];
  struct iot_named_directory key = {.path = search->path};
  key.inode = BPF_CORE_READ(dentry, d_inode, i_ino);
  key.device = BPF_CORE_READ(dentry, d_inode, i_sb, s_dev);
  search->depth = IOT_VERDICT(named_directories, &key);
  if (search->depth)
    return 1;
  const enum climb step = climb(search->at);
  if (step == CLIMBED)
    ++search->aside;
  return step != CLIMBED && step != IS_ACROSS;
}

/* The directory where a call begins: the root, the current one, or a descriptor's. */
static __always_inline void begin_search(struct start_search* search, char first, iot_s32 fd) {
  struct task_struct* current = bpf_get_current_task_btf();
  const struct fs_struct* fs = BPF_CORE_READ(current, fs);
  const struct file* file = 0;
  const struct vfsmount* mount = 0;
  if (first == '/') {
    search->at[0] = (iot_u64)BPF_CORE_READ(fs, root.dentry);
    mount = BPF_CORE_READ(fs, root.mnt);
  } else if (fd == IOT_AT_FDCWD) {
    search->at[0] = (iot_u64)BPF_CORE_READ(fs, pwd.dentry);
    mount = BPF_CORE_READ(fs, pwd.mnt);
  } else {
    file = (const struct file*)iot_file_pointer_of_fd(fd);
    search->at[0] = (iot_u64)BPF_CORE_READ(file, f_path.dentry);
    mount = BPF_CORE_READ(file, f_path.mnt);
  }
  search->at[1] = mount ? (iot_u64)mount - bpf_core_field_offset(struct mount, mnt) : 0;
}

/* Stops at the path that the call names, or after the last one that ends alike. */
static long compare_path(iot_u32 index, struct named_call* call) {
  const iot_u32 number = call->number - 1;
  const struct iot_named_path* named = bpf_map_lookup_elem(&named_paths, &number);
  if (!named) {
    call->number = 0;
    return 1;
  }
  struct named_text* text = call->text;
  struct start_search search = {.path = number};
  begin_search(&search, text->text[0], call->fd);
  if (search.at[0])
    bpf_loop(IOT_FOLDER_DEPTH, search_start, &search, 0);
  text->depth = search.depth;
  text->aside = search.aside;
  call->named = named;
  if (search.depth) {
    begin_component(text, named);
    bpf_loop(IOT_NAMED_BYTES, compare_text, call, 0);
    if (!text->aside && text->depth == named->depth + 1)
      return 1;
  }
  call->number = named->next;
  return !named->next;
}

static __always_inline iot_u32 send_named(iot_u32 number) {
  const struct iot_named_path* named = bpf_map_lookup_elem(&named_paths, &number);
  if (!named)
    return 0;
  struct iot_message_string* message =
      reserve_message(IOT_MESSAGE_STRING, sizeof(struct iot_message_string));
  if (!message)
    return 0;
  return submit_string(message,
                       bpf_probe_read_kernel_str(message->string, IOT_PATH_BYTES, named->path));
}

static __always_inline struct named_text* take_text(iot_u32 index) {
  struct named_text* text = bpf_map_lookup_elem(&named_texts, &index);
  return text && !__atomic_exchange_n(&text->is_used, 1, __ATOMIC_RELAXED) ? text : 0;
}

static __always_inline void find_named(struct named_call* call, iot_u64 path) {
  struct named_text* text = call->text;
  const long bytes = bpf_probe_read_user_str(text->text, IOT_NAMED_BYTES, (const void*)path);
  text->hash = iot_config.name_seed;
  text->last = 0;
  if (bytes > 1) {
    bpf_loop(IOT_NAMED_BYTES, hash_text, call, 0);
    const iot_u64 last = text->last;
    call->number = IOT_VERDICT(named_lasts, &last);
  }
  if (call->number)
    bpf_loop(IOT_CHOICE_LIMIT, compare_path, call, 0);
}

__noinline iot_u32 iot_named_path(iot_s32 fd, iot_u64 path) {
  if (!path)
    return 0;
  struct named_call call = {.fd = fd, .text = take_text(0)};
  if (!call.text)
    call.text = take_text(1);
  if (!call.text) {
    iot_count(IOT_COUNTER_kernel_text_full);
    return 0;
  }
  find_named(&call, path);
  call.text->is_used = 0;
  return call.number ? send_named(call.number - 1) : 0;
}
