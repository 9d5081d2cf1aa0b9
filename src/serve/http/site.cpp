// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/site.hpp"

#include <charconv>
#include <optional>

#include "render/html/catalogue.hpp"
#include "render/html/html.hpp"

namespace iotrail::serve {

namespace {

constexpr std::size_t kListedMost = 1000;
constexpr std::uint64_t kLatestNs = 1ULL << 62U; // later than any event; sums with it fit 64 bits
constexpr std::string_view kHtml = "text/html; charset=utf-8";

// Takes the same time for each wrong token.
bool is_same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// DNS rebinding: a page of another site may make its own name lead to this machine. The Host header
// then has the other site's name.
bool is_for_us(const Site& site, const Request& request) {
  for (const std::string_view name : {"127.0.0.1", "localhost"}) {
    const std::string host = fmt::format("{}:{}", name, site.port);
    const std::string_view origin = request.header("origin");
    if (request.header("host") == host && (origin.empty() || origin == "http://" + host))
      return true;
  }
  return false;
}

std::optional<std::uint64_t> number_in(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  if (found == request.query.end())
    return 0;
  std::uint64_t number = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [stopped, problem] = std::from_chars(found->second.data(), end, number);
  if (problem != std::errc{} || stopped != end || number > kLatestNs)
    return {};
  return number;
}

std::optional<Part> part_in(const Request& request) {
  const auto since = number_in(request, "since_ns");
  const auto until = number_in(request, "until_ns");
  if (!since || !until || (*until != 0 && *until <= *since))
    return {};
  return Part{.since_ns = *since, .until_ns = *until};
}

Response catalogue(const Site& site) {
  std::vector<ServedTrace> list = site.traces.list();
  std::vector<std::string> notes;
  if (list.size() > kListedMost)
    notes.push_back(fmt::format("The newest {} of {} traces. `iotrail list` has all.", kListedMost,
                                list.size()));
  list.resize(std::min(list.size(), kListedMost));
  std::vector<std::string> links;
  for (const ServedTrace& trace : list)
    links.push_back(trace.entry.problem.empty() ? "trace/" + percent_encoded(trace.id) + "/" : "");
  Response response{.type = std::string(kHtml),
                    .policy = output::page_policy(output::PageUse::served)};
  output::Sink sink(response.body);
  output::render_catalogue(list_document(site.traces, list), links,
                           "Traces in " + site.traces.place(), notes, sink);
  (void)sink.finish(); // a string cannot fail
  return response;
}

Response response_of(Result<std::string> body, std::string_view type) {
  if (!body)
    return error_response(body.error().code == ETIMEDOUT ? 504 : 400, body.error());
  return {.type = std::string(type), .body = std::move(*body)};
}

Response query_response(const Site& site, const TracePath& trace, const Request& request,
                        const std::string& body, const analysis::OnOverdue& on_overdue) {
  const auto given = request.query.find("sql");
  const std::string& sql = given == request.query.end() ? body : given->second;
  if (sql.empty())
    return error_response(400, "no SQL: POST it, or give ?sql=");
  Limits limits = site.limits;
  limits.on_overdue = on_overdue;
  return response_of(rows_json(trace, sql, limits), "application/json; charset=utf-8");
}

Response trace_response(const Site& site, const ServedTrace& trace, const Request& request,
                        const std::string& body, const analysis::OnOverdue& on_overdue) {
  const std::string& what = request.path[3];
  const std::optional<Part> part = part_in(request);
  if (!part)
    return error_response(400, "since_ns and until_ns are nanoseconds since the begin of the "
                               "recording, until_ns after since_ns");
  if (what == "query")
    return query_response(site, trace.entry.path, request, body, on_overdue);
  if (what == "data")
    return response_of(page_json(trace.entry.path, *part, site.limits),
                       "application/json; charset=utf-8");
  if (what == "pictures")
    return response_of(pictures_json(trace.entry.path, *part, site.limits),
                       "application/json; charset=utf-8");
  Response page =
      response_of(page_html(trace.entry.path, *part, trace.is_running(), site.limits), kHtml);
  if (page.status == 200)
    page.policy = output::page_policy(output::PageUse::served);
  return page;
}

bool is_known(std::string_view what) {
  return what.empty() || what == "data" || what == "pictures" || what == "query";
}

} // namespace

Response answer(const Site& site, const Request& request, const std::string& body,
                const std::function<bool()>& may_begin, const analysis::OnOverdue& on_overdue) {
  const std::vector<std::string>& path = request.path;
  if (!is_for_us(site, request) || !is_same(path.front(), site.token))
    return error_response(403,
                          "forbidden: the address needs the token that `iotrail serve` prints");
  const bool is_query = path.size() == 4 && path[3] == "query";
  if (request.method != "GET" && request.method != "HEAD" &&
      !(request.method == "POST" && is_query))
    return error_response(405, "only GET, and POST of a query: nothing here can be changed");
  if (path.size() == 1 || (path.size() == 3 && path[1] == "trace")) {
    // Relative addresses in the page need the slash at the end.
    std::string location;
    for (const std::string& segment : path)
      location += "/" + percent_encoded(segment);
    return {.status = 301, .location = location + "/"};
  }
  if (path.size() == 2 && path[1].empty())
    return catalogue(site);
  if (path.size() != 4 || path[1] != "trace" || !is_known(path[3]))
    return error_response(404, "nothing is at this address");
  const auto trace = site.traces.find(path[2]);
  if (!trace)
    return error_response(404, trace.error());
  if (!may_begin())
    return error_response(503, "too many requests at once; try again");
  return trace_response(site, *trace, request, body, on_overdue);
}

} // namespace iotrail::serve
