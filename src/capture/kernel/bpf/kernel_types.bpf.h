/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * All that iotrail depends on inside the kernel: the fields it reads, nothing else. Offsets are relocated when the
 * programs are loaded (CO-RE), so order and size here do not matter, names and nesting do. Where kernels differ
 * there is a second view x___old, chosen in compat.bpf.h by asking for the field, never for a version.
 */
#ifndef IOTRAIL_KERNEL_TYPES_BPF_H
#define IOTRAIL_KERNEL_TYPES_BPF_H

#include "abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef io_u8 u8;
typedef io_u16 u16;
typedef io_u32 u32;
typedef io_u64 u64;
typedef io_s32 s32;
typedef io_s64 s64;

struct hlist_node {
  struct hlist_node* next;
};
struct hlist_head {
  struct hlist_node* first;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
  unsigned long di, si, dx, r10, r8, r9;
  unsigned long ax, bx, cx, bp;
#elif defined(__TARGET_ARCH_arm64)
  u64 regs[31];
  u64 orig_x0;
#endif
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
  unsigned long s_magic;
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
struct inode {
  u16 i_mode;
  struct super_block* i_sb;
  struct address_space* i_mapping;
  unsigned long i_ino;
  u32 i_generation;
  s64 i_size;
  struct hlist_head i_dentry;
};
struct file {
  u32 f_mode;
  u32 f_flags;
  struct address_space* f_mapping;
  struct inode* f_inode;
  struct path f_path;
  s64 f_pos;
};
struct fdtable {
  u32 max_fds;
  struct file** fd;
};
struct files_struct {
  struct fdtable* fdt;
  struct file* fd_array[64];
};

/* Tasks */
typedef struct {
  int counter;
} atomic_t;
struct thread_info {
  u32 status;
};
struct signal_struct {
  atomic_t live;
};
struct mm_struct {
  unsigned long arg_start;
  unsigned long arg_end;
};
struct task_struct {
  struct thread_info thread_info;
  u32 flags;
  int pid;
  int tgid;
  int exit_code;
  u64 start_time;
  char comm[16];
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct files_struct* files;
  struct mm_struct* mm;
  struct signal_struct* signal;
};
struct linux_binprm {
  struct file* file;
  const char* filename;
};

/* Page cache */
struct address_space {
  struct inode* host;
};
struct page {
  unsigned long compound_head;
  struct address_space* mapping;
};
struct folio {
  unsigned long flags;
  struct address_space* mapping;
  unsigned long index;
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
enum pageflags { PG_head = 16 };
struct folio_batch {
  u8 nr;
  struct folio* folios[1];
};
struct kiocb {
  struct file* ki_filp;
  s64 ki_pos;
};
struct iov_iter {
  u64 count;
};
enum writeback_sync_modes { WB_SYNC_NONE, WB_SYNC_ALL };
struct writeback_control {
  long nr_to_write;
  enum writeback_sync_modes sync_mode;
};

/* Block layer */
struct gendisk {
  int major;
  int first_minor;
};
struct block_device {
  struct gendisk* bd_disk;
  u32 bd_dev;
};
struct bio_vec {
  struct page* bv_page;
  u32 bv_len;
  u32 bv_offset;
};
struct bvec_iter {
  u64 bi_sector;
  u32 bi_size;
  u32 bi_idx;
};
struct bio {
  struct bio* bi_next;
  struct block_device* bi_bdev;
  u32 bi_opf;
  struct bvec_iter bi_iter;
  void* bi_private;
  struct bio_vec* bi_io_vec;
};
struct request_queue {
  struct gendisk* disk;
};
struct request {
  struct request_queue* q;
  u32 cmd_flags;
  u32 __data_len;
  u64 __sector;
  struct bio* bio;
};

#pragma clang attribute pop

#endif
