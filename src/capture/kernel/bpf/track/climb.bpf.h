/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The way up from a file to the root, one directory at a time.
 */
#ifndef IOTRAIL_CLIMB_BPF_H
#define IOTRAIL_CLIMB_BPF_H

#include "types/compat.bpf.h"

enum climb { CLIMBED, IS_ACROSS, IS_ALONE, AT_ROOT, AT_TOP_OF_FILE_SYSTEM };

/*
 * One step up from a directory entry, at[0], on a mount, at[1] (0: unknown): to its parent, or
 * across to its mount point. An entry that is its own parent but no root is alone: a file without a
 * directory, such as one of memfd_create. The state is in memory, not in registers: the verifier
 * forgets it there, and so checks each step alike.
 */
static __always_inline enum climb climb(iot_u64* at) {
  const struct dentry* dentry = (const struct dentry*)at[0];
  const struct mount* mount = (const struct mount*)at[1];
  const struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  const struct dentry* root = 0;
  const struct mount* above = 0;
  if (mount) {
    root = BPF_CORE_READ(mount, mnt.mnt_root);
    above = BPF_CORE_READ(mount, mnt_parent);
  }
  if (dentry != root && dentry != parent) {
    at[0] = (iot_u64)parent;
    return CLIMBED;
  }
  if (mount && dentry != root)
    return IS_ALONE;
  if (!mount || above == mount)
    return mount ? AT_ROOT : AT_TOP_OF_FILE_SYSTEM;
  at[0] = (iot_u64)BPF_CORE_READ(mount, mnt_mountpoint);
  at[1] = (iot_u64)above;
  return IS_ACROSS;
}

#endif
