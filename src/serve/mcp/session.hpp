// SPDX-License-Identifier: BSD-3-Clause
//
// The Model Context Protocol over two streams: a JSON-RPC 2.0 message a line. Each request is
// answered before the next one is read.
#pragma once

#include <string>
#include <string_view>

#include "serve/mcp/tools.hpp"

namespace iotrail::serve {

inline constexpr std::size_t kMessageBytesMost = 1U << 20U;

// The answer to a message, as a line without its end; "": it needs none.
std::string answer_to(std::string_view message, const ToolContext& context);
// The answer to a message longer than kMessageBytesMost.
std::string answer_to_oversized();

// Until the end of the input. Fails if the output cannot be written.
Result<void> run_session(int input, int output, const ToolContext& context);

} // namespace iotrail::serve
