/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Commands to drivers of devices. The driver's part of a request lies right behind it, so the
 * address identifies the request and its owner. The types are those of modules, which
 * bpf_rdonly_cast cannot name, so helpers read them. A verifier requires a check of an argument for
 * NULL before any arithmetic.
 */
#include "track/block_owner.bpf.h"

static __always_inline iot_u64 request_before(const void* driver_part) {
  return iot_number_of(driver_part) - bpf_core_type_size(struct request);
}

/* The fields of the records of all commands. */
#define DESCRIBE_COMMAND(record, address, entry)                                                   \
  do {                                                                                             \
    (record)->request = (address);                                                                 \
    (record)->sector = (entry)->sector;                                                            \
    (record)->bytes = (entry)->bytes;                                                              \
    (record)->device = (entry)->device;                                                            \
    (record)->flags = (entry)->flags;                                                              \
  } while (0)

SEC("?tp_btf/scsi_dispatch_cmd_start")
int BPF_PROG(scsi_dispatch_cmd_start, const struct scsi_cmnd* command) {
  if (!command)
    return 0;
  const iot_u64 key = request_before(command);
  struct iot_request* entry = iot_find_request(key);
  if (entry)
    entry->handed_over_ns = bpf_ktime_get_ns();
  return 0;
}

#define SCSI_HOST_STATUS_SHIFT 16
#define SCSI_STATUS_BITS 0xff

static __always_inline int emit_scsi(const struct scsi_cmnd* command, iot_u16 outcome) {
  if (!command)
    return 0;
  const iot_u64 key = request_before(command);
  struct iot_request* entry = iot_find_request(key);
  if (!entry || !entry->handed_over_ns)
    return 0;
  const iot_u64 start_ns = entry->handed_over_ns;
  entry->handed_over_ns = 0; /* it may be handed over again */
  const struct scsi_device* device = BPF_CORE_READ(command, device);
  const iot_u64 lun = BPF_CORE_READ(device, lun);
  const iot_u32 host = BPF_CORE_READ(device, host, host_no);
  const iot_u32 channel = BPF_CORE_READ(device, channel);
  const iot_u32 target = BPF_CORE_READ(device, id);
  iot_u8 opcode = 0;
  BPF_CORE_READ_INTO(&opcode, command, cmnd[0]);
  /* The result is valid only if the device answered. */
  const iot_u32 result =
      outcome == IOT_scsi_outcome_done ? (iot_u32)BPF_CORE_READ(command, result) : 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_device_scsi* record = IOT_RESERVE(device_scsi, &place);
  if (!record)
    return 0;
  DESCRIBE_COMMAND(record, key, entry);
  record->duration_ns = now_ns - start_ns;
  record->lun = lun;
  record->host = host;
  record->channel = channel;
  record->target = target;
  record->opcode = opcode;
  record->outcome = outcome;
  record->status = result & SCSI_STATUS_BITS;
  record->host_status = result >> SCSI_HOST_STATUS_SHIFT & SCSI_STATUS_BITS;
  iot_commit(&place, &entry->first.owner, start_ns);
  return 0;
}

SEC("?tp_btf/scsi_dispatch_cmd_done")
int BPF_PROG(scsi_dispatch_cmd_done, const struct scsi_cmnd* command) {
  return emit_scsi(command, IOT_scsi_outcome_done);
}

SEC("?tp_btf/scsi_dispatch_cmd_timeout")
int BPF_PROG(scsi_dispatch_cmd_timeout, const struct scsi_cmnd* command) {
  return emit_scsi(command, IOT_scsi_outcome_timeout);
}

SEC("?tp_btf/scsi_dispatch_cmd_error")
int BPF_PROG(scsi_dispatch_cmd_error, const struct scsi_cmnd* command) {
  return emit_scsi(command, IOT_scsi_outcome_refused);
}

#define NVME_STATUS_BITS 0x7ff /* code and type; the upper bits say how often to retry */

/*
 * The command to a controller, by request. It is kept, since a transport may reuse its memory
 * meanwhile.
 */
struct nvme_submitted {
  iot_u32 name_space;
  iot_u16 number;
  iot_u16 opcode;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, IOT_REQUEST_LIMIT);
  __type(key, iot_u64);
  __type(value, struct nvme_submitted);
} nvme_commands SEC(".maps");

/* Runs before its request is issued. */
SEC("?tp_btf/nvme_setup_cmd")
int BPF_PROG(nvme_setup_cmd, struct request* trusted, const struct nvme_command* command) {
  if (!command)
    return 0;
  struct request* request = IOT_UNTRUSTED(request, trusted);
  iot_u64 key = iot_number_of(request);
  if (request->bio && !find_first(request->bio))
    return 0;
  const struct nvme_submitted submitted = {.name_space = BPF_CORE_READ(command, common.nsid),
                                           .number = BPF_CORE_READ(command, common.command_id),
                                           .opcode = BPF_CORE_READ(command, common.opcode)};
  bpf_map_update_elem(&nvme_commands, &key, &submitted, BPF_ANY);
  return 0;
}

SEC("?tp_btf/nvme_complete_rq")
int BPF_PROG(nvme_complete_rq, struct request* trusted) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  iot_u64 key = iot_number_of(request);
  const struct iot_request* entry = iot_find_request(key);
  const struct nvme_submitted* submitted = bpf_map_lookup_elem(&nvme_commands, &key);
  if (!entry || !submitted)
    return 0;
  const struct nvme_request* own =
      (const struct nvme_request*)(key + bpf_core_type_size(struct request));
  const iot_u32 controller = (iot_u32)BPF_CORE_READ(own, ctrl, instance);
  const iot_u16 status = BPF_CORE_READ(own, status) & NVME_STATUS_BITS;
  const iot_u8 retries = BPF_CORE_READ(own, retries);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_device_nvme* record = IOT_RESERVE(device_nvme, &place);
  if (!record)
    return 0;
  DESCRIBE_COMMAND(record, key, entry);
  record->duration_ns = now_ns - entry->issued_ns;
  record->controller = controller;
  record->name_space = submitted->name_space;
  /* Only the queues of namespaces have a queuedata; the queue for administration is the first. */
  record->queue = request->q->queuedata ? (iot_u16)(entry->hardware_queue + 1) : 0;
  record->command = submitted->number;
  record->opcode = submitted->opcode;
  record->status = status;
  record->retries = retries;
  iot_commit(&place, &entry->first.owner, entry->issued_ns);
  return 0;
}
