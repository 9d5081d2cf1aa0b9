// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/app_calls.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/capped_sum.hpp"
#include "store/reader/event_stream.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

using schema::Role;

constexpr Role kCallRoles[] = {Role::pid, Role::tid, Role::op, Role::duration, Role::call};

// The columns of a table by role; -1: it has none.
struct CallTable {
  const store::TableInfo* table;
  bool is_library;
  int columns[std::size(kCallRoles)];

  int column(Role role) const {
    return columns[std::ranges::find(kCallRoles, role) - std::begin(kCallRoles)];
  }
};

std::map<iot_u16, CallTable> call_tables_of(const store::TraceReader& trace) {
  std::map<iot_u16, CallTable> sources;
  for (const store::TableInfo& table : trace.tables()) {
    const bool is_library = table.layer == schema::layer_name(IOT_LAYER_app);
    if (!is_library && table.layer != schema::layer_name(IOT_LAYER_syscall))
      continue;
    CallTable source{&table, is_library, {}};
    for (std::size_t i = 0; i < std::size(kCallRoles); ++i)
      source.columns[i] = table.index(kCallRoles[i]);
    if (source.column(Role::duration) >= 0 && trace.has_rows(table.kind))
      sources.emplace(table.kind, source);
  }
  return sources;
}

store::EventStream::Columns columns_of_calls(const std::map<iot_u16, CallTable>& sources) {
  store::EventStream::Columns columns;
  for (const auto& [kind, source] : sources)
    for (const int column : source.columns)
      if (column >= 0)
        columns[kind].push_back(column);
  return columns;
}

struct TimedCall {
  const CallTable* source;
  std::uint64_t thread; // pid and tid
  std::uint64_t op_id;
  std::uint64_t begin_ns;
  std::uint64_t duration_ns;
  std::uint64_t call; // number of the function

  std::uint64_t end_ns() const { return capped_sum(begin_ns, duration_ns); }
};

class AppCallFinder {
public:
  explicit AppCallFinder(const store::TraceReader& trace)
      : sources_(call_tables_of(trace)), events_(trace, columns_of_calls(sources_)) {}

  AppCalls found() {
    while (!sources_.empty() && events_.next()) {
      const auto call = current();
      if (!call)
        continue;
      if (call->begin_ns != now_ns_)
        end_moment();
      now_ns_ = call->begin_ns;
      (call->source->is_library ? library_ : system_).push_back(*call);
    }
    end_moment();
    return std::move(found_);
  }

private:
  struct Thread {
    std::optional<TimedCall> nearest;
    std::optional<TimedCall> around; // the last one that continued after the begin of another
  };

  std::uint64_t number(const CallTable& source, Role role) const {
    const int column = source.column(role);
    return column < 0 ? 0 : events_.number(static_cast<std::size_t>(column));
  }

  // nullopt: it has no duration.
  std::optional<TimedCall> current() const {
    const CallTable& source = sources_.at(events_.table().kind);
    const std::uint64_t duration_ns = number(source, Role::duration);
    const store::ColumnInfo& info =
        source.table->columns[static_cast<std::size_t>(source.column(Role::duration))];
    if (!schema::has_value(info.meaning, info.type, duration_ns))
      return std::nullopt;
    return TimedCall{&source,
                     number(source, Role::pid) << 32U | number(source, Role::tid),
                     number(source, Role::op),
                     events_.time_ns(),
                     duration_ns,
                     number(source, Role::call)};
  }

  // Of calls that begin at the same time, those of the library are outside, the longest first.
  void end_moment() {
    if (library_.size() > 1)
      std::ranges::stable_sort(library_, std::ranges::greater{}, &TimedCall::duration_ns);
    for (const TimedCall& call : library_) {
      Thread& thread = threads_[call.thread];
      if (thread.nearest && call.begin_ns < thread.nearest->end_ns())
        thread.around = thread.nearest;
      thread.nearest = call;
    }
    for (const TimedCall& call : system_)
      add(call);
    library_.clear();
    system_.clear();
  }

  void add(const TimedCall& call) {
    const auto at = threads_.find(call.thread);
    const TimedCall* library = nullptr;
    if (at != threads_.end())
      for (const std::optional<TimedCall>* each : {&at->second.nearest, &at->second.around})
        if (library == nullptr && *each && (*each)->end_ns() > call.begin_ns)
          library = &**each;
    if (library == nullptr)
      found_.calls.push_back({call.op_id, 0, kind_of({nullptr, 0, "outside"})});
    else
      found_.calls.push_back({call.op_id, library->op_id,
                              kind_of({library->source, library->call,
                                       call.end_ns() <= library->end_ns() ? "inside" : "cut"})});
  }

  using Key = std::tuple<const CallTable*, std::uint64_t, std::string_view>;

  const AppCallKind* kind_of(const Key& key) {
    const auto [at, is_new] = kinds_.try_emplace(key, nullptr);
    if (is_new)
      at->second = &found_.kinds.emplace_back(made_kind(key));
    return at->second;
  }

  static AppCallKind made_kind(const Key& key) {
    const auto& [source, call, place] = key;
    if (source == nullptr)
      return {{}, {}, std::string(place)};
    const int column = source->column(Role::call);
    return {source->table->name,
            column < 0
                ? ""
                : schema::number_text(
                      source->table->columns[static_cast<std::size_t>(column)].meaning, call),
            std::string(place)};
  }

  std::map<iot_u16, CallTable> sources_;
  store::EventStream events_;
  AppCalls found_;
  std::map<Key, const AppCallKind*> kinds_;
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::uint64_t now_ns_ = 0;
  std::vector<TimedCall> library_; // calls that began at now_ns_
  std::vector<TimedCall> system_;
};

} // namespace

AppCalls find_app_calls(const store::TraceReader& trace) {
  return AppCallFinder(trace).found();
}

} // namespace iotrail::analysis
