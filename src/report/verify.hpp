// SPDX-License-Identifier: BSD-3-Clause
//
// What `verify` says: whether all events and all bytes of the devices are accounted for, and what is not.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct Verification {
  Document document;
  // False: something does not add up, is damaged, or cannot be checked: the recording has no end or failed, or events may be
  // missing that nobody counted. Losses and remainders that are counted do add up.
  bool is_clean = false;
};

Result<Verification> make_verification(analysis::Engine& engine);

} // namespace iotrail::output
