/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The types of the kernel, with only the fields that iotrail reads. CO-RE relocates their offsets
 * when the programs are loaded: order and size do not matter here, names and nesting do. Where
 * kernels differ there is a second view x___old; compat.bpf.h asks for the field, never for a
 * version, to choose one.
 */
#ifndef IOTRAIL_KERNEL_TYPES_BPF_H
#define IOTRAIL_KERNEL_TYPES_BPF_H

#include "abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef iot_u8 u8;
typedef iot_u16 u16;
typedef iot_u32 u32;
typedef iot_u64 u64;
typedef iot_s32 s32;
typedef iot_s64 s64;

struct hlist_node {
  struct hlist_node* next;
};
struct timespec64 {
  iot_s64 tv_sec;
};

struct hlist_head {
  struct hlist_node* first;
};

struct pt_regs {
  unsigned long di, si, dx, r10, r8, r9;
  unsigned long ax, bx, cx, bp;
  unsigned long orig_ax;
  unsigned long ip;
};

/* Files */
struct qstr {
  u32 len;
  const unsigned char* name;
};
struct dentry {
  struct dentry* d_parent;
  struct qstr d_name;
  struct inode* d_inode;
  union {
    struct hlist_node d_alias;
  } d_u;
};
struct super_block {
  u32 s_dev;
  struct block_device* s_bdev;
  unsigned long s_magic;
  void* s_fs_info;
};
struct vfsmount {
  struct dentry* mnt_root;
};
struct mount {
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
};
struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};
struct fs_struct {
  struct path root;
  struct path pwd;
};
struct rw_semaphore {
  struct {
    s64 counter;
  } owner; /* the task and flags; real-time kernels do not have it */
};
#define RWSEM_READER_OWNED 1
#define RWSEM_OWNER_FLAGS 7
struct address_space {
  struct inode* host;
  unsigned long flags;
};
enum mapping_flags { AS_EXITING = 4 };
struct inode {
  u16 i_mode;
  u32 i_flags;
  u8 i_blkbits;
  struct super_block* i_sb;
  struct address_space* i_mapping;
  unsigned long i_ino;
  u32 i_generation;
  u32 i_nlink;
  s64 i_size;
  struct hlist_head i_dentry;
  struct rw_semaphore i_rwsem;
  struct address_space i_data;
};
struct file_operations {
  void* flush;
};
struct file {
  u32 f_mode;
  u32 f_flags;
  struct address_space* f_mapping;
  struct inode* f_inode;
  struct path f_path;
  s64 f_pos;
  void* private_data;
  const struct file_operations* f_op;
};
struct file_lock_core {
  struct file_lock_core* flc_blocker;
  void* flc_owner;
  u32 flc_flags;
  u8 flc_type;
  u32 flc_pid;
  struct file* flc_file;
};
struct file_lock {
  struct file_lock_core c;
  s64 fl_start;
  s64 fl_end;
};
struct file_lock___whole { /* before it was split */
  struct file_lock___whole* fl_blocker;
  void* fl_owner;
  u32 fl_flags;
  u8 fl_type;
  u32 fl_pid;
  struct file* fl_file;
  s64 fl_start;
  s64 fl_end;
};
struct fdtable {
  u32 max_fds;
  struct file** fd;
};
struct files_struct {
  struct fdtable* fdt;
  struct fdtable fdtab; /* the first one; its descriptors are in fd_array */
  struct file* fd_array[64];
};

/* Tasks */
typedef struct {
  int counter;
} atomic_t;
struct thread_info {
  u32 status;
};
struct ns_common {
  u32 inum;
};
struct pid_namespace {
  struct ns_common ns;
};
struct cgroup_namespace {
  struct ns_common ns;
};
struct ipc_namespace {
  struct ns_common ns;
};
struct mnt_namespace {
  struct ns_common ns;
};
struct net {
  struct ns_common ns;
};
struct time_namespace {
  struct ns_common ns;
};
struct user_namespace {
  struct ns_common ns;
};
struct uts_namespace {
  struct ns_common ns;
};
struct nsproxy {
  struct uts_namespace* uts_ns;
  struct ipc_namespace* ipc_ns;
  struct mnt_namespace* mnt_ns;
  struct net* net_ns;
  struct time_namespace* time_ns;
  struct cgroup_namespace* cgroup_ns;
};
struct upid {
  int nr;
  struct pid_namespace* ns;
};
struct pid {
  u32 level;
  struct upid numbers[1]; /* level + 1 of them */
};
enum pid_type { PIDTYPE_PID, PIDTYPE_TGID };
struct signal_struct {
  atomic_t live;
  struct pid* pids[4];
};
struct mm_struct {
  unsigned long arg_start;
  unsigned long arg_end;
};
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_MEMALLOC 0x00000800 /* the task frees memory */
#define PF_KSWAPD 0x00020000
#define PF_KTHREAD 0x00200000
/* Bits of the state in which a task leaves its CPU. */
#define IOT_TASK_INTERRUPTIBLE 1
#define IOT_TASK_UNINTERRUPTIBLE 2
#define IOT_TASK_TRACED 8

typedef struct {
  u32 val;
} kuid_t;
struct cred {
  kuid_t uid;
  struct user_namespace* user_ns;
};
struct kernfs_node {
  u64 id;
};
struct cgroup {
  struct kernfs_node* kn;
};
struct css_set {
  struct cgroup* dfl_cgrp; /* in the unified hierarchy */
};
typedef struct {
  unsigned long sig[1];
} sigset_t;
struct sigpending {
  sigset_t signal;
};
struct task_struct {
  struct thread_info thread_info;
  void* worker_private;
  u32 flags;
  int pid;
  int tgid;
  int exit_code;
  u64 start_time;
  char comm[16];
  const struct cred* cred;
  const struct cred* real_cred;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct task_struct* real_parent;
  struct fs_struct* fs;
  struct files_struct* files;
  struct mm_struct* mm;
  struct signal_struct* signal;
  struct nsproxy* nsproxy;
  struct css_set* cgroups;
  struct sigpending pending;
  void* journal_info; /* of the file system that it changes */
};
struct seq_file {
  u64 count;
};
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};
struct linux_binprm {
  struct file* file;
  const char* filename;
};

/* Page cache */
struct page {
  unsigned long compound_head;
  struct address_space* mapping;
};
struct folio {
  unsigned long flags;
  struct address_space* mapping;
  unsigned long index;
  void* private;
  u32 _folio_nr_pages; /* of a large folio */
};
struct folio___memdesc {
  struct {
    unsigned long f;
  } flags;
};
struct folio___short_name {
  u32 _nr_pages;
};
enum pageflags { PG_private = 15, PG_head = 16, PG_swapbacked = 19 };
struct folio_batch {
  u8 nr;
  struct folio* folios[1];
};
struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_pgoff;
  struct file* vm_file;
};
struct kiocb {
  struct file* ki_filp;
  s64 ki_pos;
  void* ki_complete;
  int ki_flags;
};
struct iov_iter {
  u64 count;
};
enum writeback_sync_modes { WB_SYNC_NONE, WB_SYNC_ALL };
enum wb_reason { WB_REASON_BACKGROUND };
struct wb_writeback_work {
  enum wb_reason reason;
};
struct writeback_control {
  long nr_to_write;
  enum writeback_sync_modes sync_mode;
};
struct file_ra_state {
  unsigned long start;
  u32 size;
  u32 async_size;
  u16 order;
};
struct readahead_control {
  struct address_space* mapping;
  struct file_ra_state* ra;
  unsigned long _index;
};

#include "types/kernel_types_async.bpf.h"
#include "types/kernel_types_block.bpf.h"
#include "types/kernel_types_fs.bpf.h"
#include "types/kernel_types_net.bpf.h"

#pragma clang attribute pop

#endif
