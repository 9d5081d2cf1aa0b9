/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The types of file systems and their journals, most of them in modules. Only kernel_types.bpf.h
 * includes this file.
 */
#ifndef IOTRAIL_KERNEL_TYPES_FS_BPF_H
#define IOTRAIL_KERNEL_TYPES_FS_BPF_H

/* Journals of file systems, and ext4 */
struct transaction_s {
  u32 t_tid;
  struct journal_s* t_journal;
};
struct journal_s {
  int j_errno;
  struct transaction_s* j_checkpoint_transactions;
  struct block_device* j_dev; /* with the journal */
  struct block_device* j_fs_dev;
};
struct jbd2_journal_handle {
  struct transaction_s* h_transaction;
};
struct transaction_chp_stats_s { /* times in ticks */
  unsigned long cs_chp_time;
  u32 cs_forced_to_close;
  u32 cs_written;
};
struct transaction_run_stats_s { /* times in ticks */
  unsigned long rs_wait;
  unsigned long rs_request_delay;
  unsigned long rs_running;
  u32 rs_handle_count;
  u32 rs_blocks;
  u32 rs_blocks_logged;
};
struct ext4_inode_info {
  struct inode vfs_inode;
  u32 i_sync_tid;
  u32 i_datasync_tid;
  u32 i_reserved_data_blocks; /* clusters */
};
struct ext4_sb_info {
  u32 s_cluster_bits; /* log2 of the blocks in a cluster */
  struct journal_s* s_journal;
};
struct ext4_allocation_request {
  struct inode* inode;
  u32 len;
  u32 flags;
};
struct ext4_map_blocks {
  u64 m_pblk;
  u32 m_lblk;
  u32 m_len;
  u32 m_flags;
};
enum bh_state_bits { BH_Unwritten = 11 };

/* xfs */
struct xfs_sb {
  u32 sb_agblocks;
  u8 sb_blocklog;
  u8 sb_agblklog;
};
struct xfs_mount {
  struct xfs_sb m_sb;
  struct super_block* m_super;
};
struct xfs_inode {
  struct xfs_mount* i_mount;
  struct inode i_vnode;
};
struct xfs_alloc_arg {
  struct xfs_mount* mp;
  u32 agno;
  u32 agbno;
  u32 len;
  int datatype;
};
struct xfs_iext_rec { /* packed: see allocate.bpf.c */
  u64 lo;
  u64 hi;
};
struct xfs_iext_leaf {
  struct xfs_iext_rec recs[15];
};
struct xfs_iext_cursor {
  struct xfs_iext_leaf* leaf;
  int pos;
};

/* btrfs */
struct btrfs_fs_info {
  u64 last_trans_committed;
  struct super_block* sb;
};
struct btrfs_inode {
  struct inode vfs_inode;
};
struct btrfs_ordered_extent {
  u64 file_offset;
  u64 num_bytes;
  u64 disk_bytenr;
  u64 disk_num_bytes;
  unsigned long flags;
  int compress_type;
};
struct btrfs_block_group {
  u64 flags;
};
enum btrfs_block_group_size_class { BTRFS_BG_SZ_NONE };
struct find_free_extent_ctl {
  u64 search_start;
  enum btrfs_block_group_size_class size_class;
};
struct btrfs_data_ref {
  u64 objectid;
  u64 offset;
};
struct btrfs_delayed_ref_node {
  u64 bytenr;
  u64 num_bytes;
  struct btrfs_data_ref data_ref;
};
struct btrfs_delayed_data_ref { /* in kernels where a reference and its node are two types */
  u64 objectid;
  u64 offset;
};

/* Calls to servers, and those of NFS */
struct rpc_procinfo {
  const char* p_name;
};
struct rpc_message {
  const struct rpc_procinfo* rpc_proc;
};
struct rpc_call_ops {
  void (*rpc_call_done)(void);
};
struct rpc_program {
  const char* name;
};
struct rpc_clnt {
  u32 cl_vers;
  const struct rpc_program* cl_program;
};
struct rpc_xprt {
  const char* address_strings[1];
};
struct rpc_rqst {
  s64 rq_rtt;
  s64 rq_xtime;
  u32 rq_xid; /* in network byte order */
  u32 rq_xmit_bytes_sent;
  u32 rq_reply_bytes_recvd;
  int rq_ntrans;
};
struct rpc_task {
  int tk_status;
  void* tk_calldata;
  const struct rpc_call_ops* tk_ops;
  struct rpc_clnt* tk_client;
  struct rpc_xprt* tk_xprt;
  struct rpc_rqst* tk_rqstp;
  struct rpc_message tk_msg;
  s64 tk_start;
  u8 tk_timeouts;
};
struct nfs_pgio_header {
  struct inode* inode;
};
struct nfs_commit_data {
  struct inode* inode;
};

#endif
