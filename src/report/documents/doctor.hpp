// SPDX-License-Identifier: BSD-3-Clause
//
// What this machine lets iotrail record, and what would lift each refusal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capture/kernel/load/features.hpp"
#include "report/document.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::output {

struct SourceDiagnosis {
  std::string source;
  std::string refusal{}; // empty: the source can be used
  std::string remedy{};  // of the refusal
  std::vector<store::HookReport> hooks{};
};

enum class DoctorDetail : std::uint8_t {
  answer,
  events,  // also each event, and the hook that serves it
  reasons, // also why preferred hooks were refused
};

Document make_doctor(std::span<const capture::KernelFact> facts,
                     std::span<const SourceDiagnosis> sources, DoctorDetail detail);

} // namespace iotrail::output
