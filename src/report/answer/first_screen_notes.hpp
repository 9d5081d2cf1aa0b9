// SPDX-License-Identifier: BSD-3-Clause
//
// What the first screen says besides its verdict: calls that did not do what the program asked for,
// page faults, and filters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "report/document.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

// Calls that had not ended, the longest first.
Result<std::vector<Sentence>> hangs_of(analysis::Engine& engine);

// Calls that failed for a lack of space or the like, the most frequent first:
// "FAILED: write of dd on /data/d, 3 times, with ENOSPC: no space left"
Result<std::vector<Sentence>> refusals_of(analysis::Engine& engine);

// "Programs wrote 24.3 MiB, the disk 59.0 MiB (x 2.43): their data 24.3 MiB, metadata 23.7 MiB".
// Empty: disks wrote nothing.
Result<Sentence> bytes_of(analysis::Engine& engine, const Completeness& completeness);

// What the disks of this I/O counted beyond the trace: "Not in the trace, for others or by the file
// system itself: sda discarded 4.47 GiB, wrote 1.48 MiB". Empty: hardly anything.
Result<Sentence> disk_work_besides(analysis::Engine& engine);

// "the FUSE daemon sshfs[7]" if all waits for servers are for that one; "servers, mostly the FUSE
// daemon sshfs[7]" if most are; else "a server".
Result<std::string> server_of(analysis::Engine& engine);

// Page faults on mapped files: their time is part of no call.
struct PageFaults {
  std::uint64_t bytes = 0;     // read for them by devices
  std::uint64_t device_ns = 0; // with at least one such request at a device
  double device_share = 0;     // of the run
  std::uint64_t wait_ns = 0;   // programs waited in them, outside of calls; 0: or not recorded
  double wait_share = 0;
  std::string path; // the file with most of device_ns; empty: several, or not known
};

Result<PageFaults> page_faults_of(analysis::Engine& engine);

// What they cost; empty: too little to say.
Sentence faults_sentence(const PageFaults& faults);

// Which I/O filters have left out; empty: none. A snapshot leaves none out.
Sentence filters_sentence(const store::Manifest& manifest);

} // namespace iotrail::output
