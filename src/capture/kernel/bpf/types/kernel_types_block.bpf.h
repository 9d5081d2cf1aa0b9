/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The types of the block layer and of devices. Only kernel_types.bpf.h includes this file.
 */
#ifndef IOTRAIL_KERNEL_TYPES_BLOCK_BPF_H
#define IOTRAIL_KERNEL_TYPES_BLOCK_BPF_H

/* Block layer */
struct gendisk {
  int major;
  int first_minor;
};
struct super_block;
struct block_device {
  struct gendisk* bd_disk;
  u32 bd_dev;
  struct super_block* bd_super; /* before it was a holder */
  void* bd_holder;
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
  u32 bi_bvec_done;
};
enum rw_hint { WRITE_LIFE_NOT_SET } __attribute__((packed));
struct bio {
  struct bio* bi_next;
  struct block_device* bi_bdev;
  u32 bi_opf;
  u16 bi_ioprio;
  enum rw_hint bi_write_hint;
  u8 bi_status;
  struct bvec_iter bi_iter;
  void* bi_end_io;
  void* bi_private;
  u16 bi_vcnt;
  struct bio_vec* bi_io_vec;
};
struct buffer_head {
  void* b_end_io;
};
struct list_head {
  struct list_head* next;
};
struct swait_queue_head {
  struct list_head task_list;
};
struct swait_queue {
  struct task_struct* task;
  struct list_head task_list;
};
struct completion {
  struct swait_queue_head wait;
};
struct iomap_dio {
  struct kiocb* iocb;
  struct {
    struct task_struct* waiter;
  } submit;
};
struct blkdev_dio {
  struct kiocb* iocb;
  struct bio bio;
};
struct btrfs_bio {
  struct btrfs_inode* inode;
  void* end_io;
  void* private;
  struct bio bio;
};
struct compressed_bio {
  struct inode* inode; /* in kernels where it has no bio of its own */
  u64 start;
  u32 len;
  struct bio* orig_bio; /* likewise */
  struct btrfs_bio* orig_bbio;
  struct btrfs_bio bbio;
};
struct squashfs_sb_info {
  u32 block_size;
};
/* Device mapper and dm-crypt: types of modules, which exist while the module is loaded */
struct dm_io {
  struct bio* orig_bio;
};
struct dm_target_io {
  struct dm_io* io;
  struct bio clone;
};
struct dm_crypt_io {
  struct bio* base_bio;
};
struct request_queue {
  void* queuedata;
  struct gendisk* disk;
};
/* Numbers differ between kernels: CO-RE fills them in when the programs are loaded. */
enum req_op {
  REQ_OP_ZONE_OPEN = 11,
  REQ_OP_ZONE_CLOSE = 13,
  REQ_OP_ZONE_FINISH = 15,
  REQ_OP_ZONE_APPEND = 7,
  REQ_OP_ZONE_RESET = 17,
  REQ_OP_ZONE_RESET_ALL = 19,
};
enum req_flag_bits {
  __REQ_FAILFAST_DEV = 8,
  __REQ_FAILFAST_TRANSPORT = 9,
  __REQ_FAILFAST_DRIVER = 10,
  __REQ_SYNC = 11,
  __REQ_META = 12,
  __REQ_PRIO = 13,
  __REQ_NOMERGE = 14,
  __REQ_IDLE = 15,
  __REQ_INTEGRITY = 16,
  __REQ_FUA = 17,
  __REQ_PREFLUSH = 18,
  __REQ_RAHEAD = 19,
  __REQ_BACKGROUND = 20,
  __REQ_NOWAIT = 21,
  __REQ_POLLED = 22,
  __REQ_SWAP = 24,
  __REQ_ATOMIC = 27,
  __REQ_NOUNMAP = 29,
};
enum mq_rq_state {
  MQ_RQ_IDLE = 0,
};
struct sbitmap_word {
  unsigned long word;
  unsigned long cleared;
};
struct sbitmap {
  u32 map_nr;
  struct sbitmap_word* map;
};
struct sbitmap_queue {
  struct sbitmap sb;
};
struct blk_mq_tags {
  struct sbitmap_queue bitmap_tags;
};
struct blk_mq_hw_ctx {
  struct blk_mq_tags* tags;
  u32 queue_num;
};
struct request {
  struct request_queue* q;
  struct blk_mq_hw_ctx* mq_hctx;
  enum mq_rq_state state;
  u32 cmd_flags;
  u32 __data_len;
  u64 __sector;
  u64 start_time_ns; /* start of its use; 0: the disk keeps no account */
  struct bio* bio;
};

/* Devices; the driver's own part of a request lies behind it */
struct Scsi_Host {
  u32 host_no;
};
struct scsi_device {
  struct Scsi_Host* host;
  u32 id;
  u32 channel;
  u64 lun;
};
struct scsi_cmnd {
  struct scsi_device* device;
  unsigned char cmnd[32];
  int result;
};
struct nvme_common_command {
  u8 opcode;
  u16 command_id;
  u32 nsid;
};
struct nvme_command {
  union {
    struct nvme_common_command common;
  };
};
struct nvme_ctrl {
  int instance;
};
struct nvme_request {
  u8 retries;
  u16 status;
  struct nvme_ctrl* ctrl;
};

#endif
