// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/convert.hpp"

#include <type_traits>

#include "capture/preload/call_table.hpp"
#include "schema.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr io_s64 kLowestErrno = -4095;

consteval schema::Meaning meaning_of(std::string_view event, std::string_view field) {
  for (const schema::Field& row : schema::find_event(event)->fields)
    if (row.name == field)
      return row.meaning;
  throw "layout.def names a field that the event does not have";
}

struct Resolver {
  Names& names;
  PendingPaths& paths;

  template <schema::Meaning kMeaning, class Field, class Slot>
  void set(Field& field, Slot slot) const {
    if constexpr (kMeaning == schema::Meaning::file)
      field = names.file(static_cast<io_u32>(slot));
    else if constexpr (kMeaning == schema::Meaning::path)
      field = names.path(static_cast<io_u32>(slot), paths);
    else
      field = static_cast<Field>(slot);
  }
};

template <class Event> void unpack(Event& e, const RawRecord& raw, const Resolver& resolver) {
#define SLOT(event, field, slot)                                                                   \
  if constexpr (std::is_same_v<Event, io_##event>)                                                 \
    resolver.set<meaning_of(#event, #field)>(e.field, raw.slot);
#define ADDRESS_OR_ERROR(event, address, error, slot)                                              \
  if constexpr (std::is_same_v<Event, io_##event>) {                                               \
    const bool failed = raw.slot < 0 && raw.slot >= kLowestErrno;                                  \
    e.error = failed ? raw.slot : 0;                                                               \
    e.address = failed ? 0 : static_cast<io_u64>(raw.slot);                                        \
  }
#include "capture/preload/layout.def"
#undef SLOT
#undef ADDRESS_OR_ERROR
}

} // namespace

bool convert(const RawRecord& raw, const Origin& origin, const TickClock& clock, Names& names,
             PendingPaths& paths, store::TraceWriter& writer) {
  const io_u16 kind = kind_of_call(raw.call);
  const io_u64 begin_ns = clock.to_ns(raw.begin);
  const io_u64 end_ns = clock.to_ns(raw.end);
  const Resolver resolver{names, paths};
  const auto append = [&]<class Event>(Event e) {
    e.event.ts_ns = begin_ns;
    e.event.op_id = (IO_OP_PRELOAD | origin.place) << IO_OP_MAKER_SHIFT | origin.position;
    e.event.pid = origin.pid;
    e.event.tid = origin.tid;
    e.event.cpu = IO_CPU_UNKNOWN;
    e.event.kind = kind;
    e.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    e.call = raw.call;
    unpack(e, raw, resolver);
    writer.append(e.event);
  };
  switch (kind) {
    // clang-format off
#define FIELD(type, name, meaning, doc)
#define EVENT(id, name, layer, doc) case id: append(io_##name{}); return true;
#define END(name)
#include "app.def"
#undef EVENT
#undef FIELD
#undef END
  // clang-format on
  default:
    return false;
  }
}

} // namespace iotrail::capture::preload
