// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/call_sources.hpp"

#include <string>

#include "schema.hpp"
#include "value_text.hpp"

namespace iotrail::analysis {

namespace {

using schema::Role;

Sync sync_of_class(std::string_view name) {
  using enum schema::Trait;
  if (!schema::has_trait(name, is_sync))
    return Sync::none;
  return schema::has_trait(name, is_sync_of_all) ? Sync::all : Sync::file;
}

std::string_view class_of(const CallSource& source, std::string_view call) {
  for (const schema::CallClass& row : schema::kCallClasses)
    if (row.event == source.table->name && row.call == call)
      return row.name;
  return schema::class_name(source.table->name, source.table->layer);
}

bool may_sync(const CallSource& source) {
  const auto syncs = [](std::string_view name) { return sync_of_class(name) != Sync::none; };
  return syncs(class_of(source, {})) ||
         std::ranges::any_of(schema::kCallClasses, [&](const schema::CallClass& row) {
           return row.event == source.table->name && syncs(row.name);
         });
}

bool has_rows(const store::TraceReader& trace, std::string_view layer) {
  return std::ranges::any_of(trace.tables(), [&](const store::TableInfo& table) {
    return table.layer == layer && trace.has_rows(table.kind);
  });
}

} // namespace

const schema::LayerInfo* call_layer_of(const store::TraceReader& trace) {
  const schema::LayerInfo* found = nullptr;
  for (const schema::LayerInfo& layer : schema::kLayers)
    if (layer.call_rank > 0 && has_rows(trace, layer.name) &&
        (found == nullptr || layer.call_rank < found->call_rank))
      found = &layer;
  return found;
}

CallSources sources_of(const store::TraceReader& trace) {
  const schema::LayerInfo* asked = call_layer_of(trace);
  CallSources sources;
  for (const store::TableInfo& table : trace.tables()) {
    const auto* layer = std::ranges::find(schema::kLayers, table.layer, &schema::LayerInfo::name);
    if (table.is_dictionary() || layer == std::end(schema::kLayers) || !trace.has_rows(table.kind))
      continue;
    CallSource source{.table = &table, .use = Use::call};
    source.is_async = layer->place == schema::Place::later;
    if (table.name == "sched_wait")
      source.use = Use::wait;
    else if (table.name == "fs_journal_commit")
      source.use = Use::commit;
    else if (layer->place == schema::Place::files && layer != asked)
      source.use = Use::file_system;
    else if (layer != asked && !source.is_async)
      continue;
    source.own = layer->place == schema::Place::library ? bit_of("call") : bit_of("kernel");
    source.op = table.index(Role::op);
    source.parent = table.index(Role::parent_op);
    source.duration = table.index(Role::duration);
    if (source.op < 0 || source.duration < 0)
      continue;
    if (source.use == Use::call) {
      source.may_sync = may_sync(source);
      source.file = table.index(Role::file);
      source.call = source.may_sync ? table.index(Role::call) : -1;
    }
    if (table.name == "async_operation") {
      source.extra = table.column("handed_over_ns");
      source.result = table.column("result");
    }
    if (source.use == Use::wait) {
      source.extra = table.column("runnable_ns");
      source.stack = table.column("stack");
      source.state = table.column("state");
    }
    sources.emplace(table.kind, std::move(source));
  }
  return sources;
}

store::EventStream::Columns columns_of(const CallSources& sources) {
  store::EventStream::Columns columns;
  for (const auto& [kind, source] : sources)
    columns[kind] = source.columns();
  return columns;
}

Sync sync_of(CallSource& source, std::uint64_t call) {
  if (!source.may_sync)
    return Sync::none;
  const auto [known, is_new] = source.syncs.try_emplace(call, Sync::none);
  if (is_new) {
    const std::string name =
        source.call < 0
            ? std::string()
            : schema::number_text(
                  source.table->columns[static_cast<std::size_t>(source.call)].meaning, call);
    known->second = sync_of_class(class_of(source, name));
  }
  return known->second;
}

} // namespace iotrail::analysis
