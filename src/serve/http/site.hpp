// SPDX-License-Identifier: BSD-3-Clause
//
// What each address answers:
//   /TOKEN/                          the list of traces
//   /TOKEN/trace/ID/                 the page of a trace; ?since_ns=1&until_ns=2 for a part of it
//   /TOKEN/trace/ID/data             its data as JSON, of the same part
//   /TOKEN/trace/ID/pictures         what it shows in bins of time, of the same part
//   /TOKEN/trace/ID/query            POST of SQL, or ?sql=: rows as JSON
// Everything else, and everything under another host name or without the token, is refused.
#pragma once

#include <functional>
#include <string>

#include "serve/answers/answers.hpp"
#include "serve/answers/traces.hpp"
#include "serve/http/request.hpp"
#include "serve/http/response.hpp"

namespace iotrail::serve {

struct Site {
  Traces traces;
  std::string token;
  int port = 0;
  Limits limits{}; // of a query in SQL
};

// `may_begin` is asked before heavy work; if it says no, the answer is 503.
Response answer(const Site& site, const Request& request, const std::string& body,
                const std::function<bool()>& may_begin, const analysis::OnOverdue& on_overdue);

} // namespace iotrail::serve
