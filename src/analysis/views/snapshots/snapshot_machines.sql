-- The machine and its operating system: snapshot_system as text. One row per snapshot.
--   snapshot, ts_ns                        number of the snapshot, and the time of reading
--   host, hardware, machine                its name, its maker and product, its architecture
--   cpus, cpus_present, cpu_model          processors in use and present, and the model of the first
--   os, kernel, kernel_build, kernel_command   distribution, kernel release, build and command line
--   running_ns                             time since boot
CREATE VIEW snapshot_machines AS
SELECT m.snapshot AS snapshot, m.ts_ns AS ts_ns, h.text AS host, w.text AS hardware, a.text AS machine, m.cpus AS cpus,
       m.cpus_present AS cpus_present, c.text AS cpu_model, o.text AS os, k.text AS kernel, b.text AS kernel_build,
       l.text AS kernel_command, m.running_ns AS running_ns
FROM snapshot_system AS m
  LEFT JOIN strings AS h ON m.host = h.string
  LEFT JOIN strings AS w ON m.hardware = w.string
  LEFT JOIN strings AS a ON m.machine = a.string
  LEFT JOIN strings AS c ON m.cpu_model = c.string
  LEFT JOIN strings AS o ON m.os = o.string
  LEFT JOIN strings AS k ON m.kernel = k.string
  LEFT JOIN strings AS b ON m.kernel_build = b.string
  LEFT JOIN strings AS l ON m.kernel_command = l.string;

-- Block devices and their queue settings: snapshot_disk as text, without rarely needed columns. One
-- row per snapshot and device.
--   snapshot, name, model, below            number of the snapshot, kernel name, model, devices below it
--   device, bytes, rotational               device number, size, 1: a spinning disk
--   scheduler, queue_requests, hardware_queues, write_cache, throttle_ns   settings of its queue
--   read_ahead_bytes, request_max_bytes, hardware_max_bytes                maximum read-ahead and request sizes
--   logical_block_bytes, physical_block_bytes                              block sizes
CREATE VIEW snapshot_disks AS
SELECT d.snapshot AS snapshot, n.text AS name, m.text AS model, b.text AS below, d.device AS device, d.bytes AS bytes,
       d.rotational AS rotational, s.text AS scheduler, d.queue_requests AS queue_requests,
       d.hardware_queues AS hardware_queues, w.text AS write_cache, d.throttle_ns AS throttle_ns,
       d.read_ahead_bytes AS read_ahead_bytes, d.request_max_bytes AS request_max_bytes,
       d.hardware_max_bytes AS hardware_max_bytes, d.logical_block_bytes AS logical_block_bytes,
       d.physical_block_bytes AS physical_block_bytes
FROM snapshot_disk AS d
  LEFT JOIN strings AS n ON d.name = n.string
  LEFT JOIN strings AS m ON d.model = m.string
  LEFT JOIN strings AS b ON d.below = b.string
  LEFT JOIN strings AS s ON d.scheduler = s.string
  LEFT JOIN strings AS w ON d.write_cache = w.string;

-- Mounts: snapshot_mount as text. One row per snapshot and mount.
--   snapshot, path, type, source   number of the snapshot, mount point, file system, source
--   options, file_system_options   of the mount and of the file system
--   root, device                   mounted part of the file system, its device number
--   mount, parent_mount            its id, and the id of its parent mount
CREATE VIEW snapshot_mounts AS
SELECT m.snapshot AS snapshot, p.text AS path, t.text AS type, s.text AS source, o.text AS options,
       f.text AS file_system_options, r.text AS root, m.device AS device, m.mount AS mount, m.parent_mount AS parent_mount
FROM snapshot_mount AS m
  LEFT JOIN strings AS p ON m.path = p.string
  LEFT JOIN strings AS t ON m.type = t.string
  LEFT JOIN strings AS s ON m.source = s.string
  LEFT JOIN strings AS o ON m.options = o.string
  LEFT JOIN strings AS f ON m.file_system_options = f.string
  LEFT JOIN strings AS r ON m.root = r.string;

-- Network interfaces: snapshot_network as text. One row per snapshot and interface.
--   snapshot, name, state, address, driver   number of the snapshot, and the interface
--   speed_bits, packet_max_bytes, queue_packets   its settings
--   received_bytes, received_packets, receive_errors, receive_drops   totals since the interface was created
--   sent_bytes, sent_packets, send_errors, send_drops                 totals since the interface was created
CREATE VIEW snapshot_interfaces AS
SELECT i.snapshot AS snapshot, n.text AS name, s.text AS state, a.text AS address, d.text AS driver,
       i.speed_bits AS speed_bits, i.packet_max_bytes AS packet_max_bytes, i.queue_packets AS queue_packets,
       i.received_bytes AS received_bytes, i.received_packets AS received_packets, i.receive_errors AS receive_errors,
       i.receive_drops AS receive_drops, i.sent_bytes AS sent_bytes, i.sent_packets AS sent_packets,
       i.send_errors AS send_errors, i.send_drops AS send_drops
FROM snapshot_network AS i
  LEFT JOIN strings AS n ON i.name = n.string
  LEFT JOIN strings AS s ON i.state = s.string
  LEFT JOIN strings AS a ON i.address = a.string
  LEFT JOIN strings AS d ON i.driver = d.string;

-- Kernel settings that matter to I/O: snapshot_setting as text. One row per snapshot and setting.
--   snapshot, name, setting   number of the snapshot, sysctl name or path below /sys, value
CREATE VIEW snapshot_settings AS
SELECT k.snapshot AS snapshot, n.text AS name, v.text AS setting
FROM snapshot_setting AS k
  LEFT JOIN strings AS n ON k.name = n.string
  LEFT JOIN strings AS v ON k.setting = v.string;
