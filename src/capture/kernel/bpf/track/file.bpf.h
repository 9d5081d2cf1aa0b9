/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Files by local ids: device, inode and generation as one number, and the meaning of a descriptor.
 * The first sight of a file sends its path (file.bpf.c), so ask before you reserve a record.
 */
#ifndef IOTRAIL_FILE_BPF_H
#define IOTRAIL_FILE_BPF_H

#include "track/file_table.bpf.h"
#include "track/filter.bpf.h"
#include "track/task.bpf.h"

/*
 * The first sight of a file: its key and its address in the kernel. In memory, so that pointers
 * become numbers.
 */
struct iot_file_sight {
  struct iot_file_key key;
  iot_u64 inode;
  iot_u64 file; /* 0: only the inode is known */
};

iot_u32 iot_file_register(const struct iot_file_sight* sight); /* file.bpf.c */
iot_u32 iot_find_file(const struct iot_file_key* key);

/*
 * Local id of a file that a traced task has used, else 0. For contexts without a traced task, such
 * as write-back. Never sends a message.
 */
static __always_inline iot_u32 iot_file_known(iot_u64 inode_pointer) {
  if (is_stopped)
    return 0;
  const struct inode* inode = (const struct inode*)inode_pointer;
  struct iot_file_key key = {};
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  key.generation = BPF_CORE_READ(inode, i_generation);
  return iot_find_file(&key) & ~IOT_FILE_TOLD;
}

#define FMODE_LSEEK 4 /* the kernel's flag of a file that has a position */

/* The flags of a descriptor's position: IOT_FD_*. */
static __always_inline iot_u32 fd_flags_of(iot_u32 f_mode, iot_u16 i_mode) {
  const iot_u32 type = i_mode & IOT_CHOICE_file_type;
  if (!(f_mode & FMODE_LSEEK))
    return 0;
  return type == IOT_file_type_regular || type == IOT_file_type_block_device
             ? IOT_FD_HAS_POSITION | IOT_FD_ADVANCES
             : IOT_FD_HAS_POSITION;
}

/*
 * Local id of a file; 0: unknown. A task remembers its last few files by their full key, so that
 * the usual case is three loads and a comparison. `inode` and `file` may be numbers. If `file` is
 * NULL, the path is one of any name of the inode.
 */
static __always_inline iot_u32 iot_identify(struct iot_task* task, struct inode* inode,
                                            const void* file, int cast) {
  struct super_block* sb = 0;
  iot_u64 number = 0;
  iot_u32 device = 0;
  iot_u32 generation = 0;
  IOT_LOAD(sb, inode, i_sb, cast);
  IOT_LOAD(device, sb, s_dev, cast);
  IOT_LOAD(number, inode, i_ino, cast);
  IOT_LOAD(generation, inode, i_generation, cast);

  struct iot_cached_file* cached = &task->files[number & (IOT_TASK_FILES - 1)];
  if (cached->inode == number && cached->device == device && cached->generation == generation &&
      cached->file)
    return cached->file;
  const struct iot_file_sight sight = {
      .key = {number, device, generation}, .inode = (iot_u64)inode, .file = (iot_u64)file};
  const iot_u32 id = iot_file_register(&sight);
  cached->inode = number;
  cached->device = device;
  cached->generation = generation;
  cached->file = id == IOT_FILE_NAMELESS ? 0 : id; /* its path may be sent the next time */
  return id;
}

static __always_inline iot_u32 iot_file_of_inode(struct iot_task* task, const void* inode_pointer,
                                                 const void* file) {
  const int cast = iot_config.has_cast;
  struct inode* inode = IOT_TYPED(inode, inode_pointer, cast);
  return iot_identify(task, inode, file, cast);
}

static __always_inline iot_u32 iot_file_of(struct iot_task* task, const void* file_pointer) {
  const int cast = iot_config.has_cast;
  struct file* file = IOT_TYPED(file, file_pointer, cast);
  struct inode* inode = 0;
  IOT_LOAD(inode, file, f_inode, cast);
  return iot_file_of_inode(task, inode, file_pointer);
}

/*
 * The struct file of a descriptor below 64 in a task that never had more, typed without
 * bpf_rdonly_cast: the verifier knows the type of an array in a structure if the index is constant.
 * NULL: more descriptors, or no such file.
 */
#define IOT_SMALL_FILES 64
#define IOT_FILE_AT(n)                                                                             \
  case n:                                                                                          \
    return files->fd_array[n];
#define IOT_FILES_AT(n)                                                                            \
  IOT_FILE_AT(n)                                                                                   \
  IOT_FILE_AT(n + 1)                                                                               \
  IOT_FILE_AT(n + 2)                                                                               \
  IOT_FILE_AT(n + 3)                                                                               \
  IOT_FILE_AT(n + 4)                                                                               \
  IOT_FILE_AT(n + 5)                                                                               \
  IOT_FILE_AT(n + 6)                                                                               \
  IOT_FILE_AT(n + 7)

static __noinline struct file* iot_small_file_of_fd(iot_s32 fd) {
  struct files_struct* files = bpf_get_current_task_btf()->files;
  if (files->fdt->max_fds > IOT_SMALL_FILES)
    return 0;
  switch (fd) {
    IOT_FILES_AT(0)
    IOT_FILES_AT(8)
    IOT_FILES_AT(16)
    IOT_FILES_AT(24)
    IOT_FILES_AT(32)
    IOT_FILES_AT(40)
    IOT_FILES_AT(48)
    IOT_FILES_AT(56)
  }
  return 0;
}

/* The same of any descriptor, as a number, on kernels with bpf_rdonly_cast. */
static __always_inline iot_u64 iot_file_pointer_in(const struct files_struct* files, iot_s32 fd) {
  const struct fdtable* table = files->fdt;
  /*
   * The first table has as many descriptors as the structure itself has places, at a known address.
   */
  iot_u64 at = (iot_u64)files->fd_array;
  if ((iot_u32)fd >= IOT_SMALL_FILES || (iot_u64)table != (iot_u64)&files->fdtab) {
    if ((iot_u32)fd >= table->max_fds)
      return 0;
    at = (iot_u64)table->fd;
  }
  at += (iot_u64)(iot_u32)fd * sizeof(void*);
  return (iot_u64)IOT_TYPED(timespec64, at, 1)->tv_sec;
}

static __always_inline struct file* iot_file_in(const struct files_struct* files, iot_s32 fd) {
  const iot_u64 file = iot_file_pointer_in(files, fd);
  return file ? IOT_TYPED(file, file, 1) : 0;
}

/* The struct file of a descriptor of the running task, as a number; 0: none. */
static __always_inline iot_u64 iot_file_pointer_of_fd(iot_s32 fd) {
  struct task_struct* current = bpf_get_current_task_btf();
  if (iot_config.has_cast)
    return iot_file_pointer_in(IOT_TYPED(task_struct, current, 1)->files, fd);
  const struct fdtable* table = current->files->fdt;
  if ((iot_u32)fd >= table->max_fds)
    return 0;
  return iot_read_word((iot_u64)table->fd + (iot_u64)(iot_u32)fd * sizeof(void*));
}

/* Typed. NULL: no such file, or the kernel cannot type it (a descriptor from 64 on before 6.2). */
static __always_inline struct file* iot_typed_file_of_fd(iot_s32 fd) {
  if (!iot_config.has_cast)
    return iot_small_file_of_fd(fd);
  return iot_file_in(IOT_TYPED(task_struct, bpf_get_current_task_btf(), 1)->files, fd);
}

static __always_inline int means_the_same(const struct iot_cached_fd* cached, iot_s32 fd,
                                          struct file* file) {
  struct inode* inode = file->f_inode;
  return cached->file_pointer == (iot_u64)file && cached->fd == fd &&
         cached->inode_pointer == (iot_u64)inode && cached->inode == inode->i_ino &&
         cached->generation == inode->i_generation;
}

/* Remembers the meaning of a descriptor in the running task. 0: no such file. */
int iot_cache_fd(iot_s32 fd); /* file.bpf.c */

/*
 * Sends the path of a file that a filter excludes: the other side of a copy, which a record still
 * names, or a program. A program is only the name of a process; its id is marked IOT_FILE_UNWANTED.
 * It uses only the file in `seen`.
 */
int iot_file_tell(const struct iot_file_sight* seen, iot_u32 is_program); /* file.bpf.c */

/* Local id of the file of a descriptor of the running task; 0: none. */
iot_u32 iot_file_of_fd(iot_s32 fd); /* file.bpf.c */

/* The same after an open, of a file that the filter excluded under its former name. */
iot_u32 iot_file_by_new_name(iot_s32 fd); /* file.bpf.c */

/*
 * Finds the file that is mapped at an address of the running task: sets `entry_file` and the
 * position in it; 0 and IOT_OFFSET_NONE: none.
 */
int iot_find_file_at(iot_u64 address); /* file.bpf.c */

/* iot_file_of_fd() for a descriptor that the running task has probably used lately. */
static __always_inline iot_u32 iot_file_of_known_fd(struct iot_task* task, iot_s32 fd) {
  const struct iot_cached_fd* cached = &task->fds[(iot_u32)fd & (IOT_TASK_FDS - 1)];
  struct file* file = iot_typed_file_of_fd(fd);
  if (file && (means_the_same(cached, fd, file) || iot_cache_fd(fd)))
    return cached->file;
  return iot_file_of_fd(fd);
}

#endif
