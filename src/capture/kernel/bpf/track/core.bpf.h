/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The headers that every probe needs. A probe looks like this:
 *
 *   SEC("?tp_btf/some_event") int BPF_PROG(layer_some_event, struct file *file) {
 *     struct iot_task *task = iot_current();
 *     if (!task)                                    // not traced: return first
 *       return 0;
 *     iot_u32 id = iot_file_of(task, file);         // before reserving: it may send a message
 *     if (!iot_file_wanted(id))
 *       return 0;
 *     struct iot_place place;
 *     struct iot_vfs_open *record = IOT_RESERVE(vfs_open, &place);
 *     if (!record)                                  // full: already counted by layer
 *       return 0;
 *     record->file = id; ...                        // every field of the event
 *     iot_commit(&place, iot_owner_of(task), ts_ns); // fills the header, hands the record over
 *     return 0;
 *   }
 *
 * Only plain stores may be between IOT_RESERVE and iot_commit: no helper that can fail, no return.
 * iot_wants(IOT_KIND_x) says whether an event is wanted; it costs nothing where it is not. The
 * loader picks programs by name and section. All are SEC("?..."), so that none loads unless chosen.
 * All layers are one translation unit (iotrail.bpf.c): static names must differ between files.
 */
#ifndef IOTRAIL_CORE_BPF_H
#define IOTRAIL_CORE_BPF_H

#include "out/aggregate.bpf.h"
#include "out/message.bpf.h"
#include "out/ring.bpf.h"
#include "track/file.bpf.h"
#include "track/filter.bpf.h"
#include "track/op.bpf.h"
#include "track/task.bpf.h"

#include <bpf/bpf_tracing.h>

#endif
