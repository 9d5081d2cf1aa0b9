// SPDX-License-Identifier: BSD-3-Clause
//
// What `verify` prints: whether all events and all bytes of the devices are accounted for, and what is not.
#pragma once

#include <cstdio>

#include "analysis/engine/engine.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

// False: something does not add up, is damaged, or cannot be checked: the recording has no end or failed, or events may be
// missing that nobody counted. Losses and remainders that are counted do add up.
Result<bool> write_verification(analysis::Engine& engine, std::size_t width, std::FILE* file);

} // namespace iotrail::output
