// Filters of reads of tables (winnow/table.h), in the language and with the meaning of HBase's:
//
//   auto filter = winnow::TableFilter::Parse(
//       "PrefixFilter('user') AND (QualifierFilter(=, 'binary:city') OR ValueFilter(>,
//       'binary:M'))");
//   if (!filter.ok()) return Report(filter.status());
//   winnow::ScanOptions options;
//   options.filter = *filter;
//
// A filter sees, row by row and in their order, the cells that a read without it would give with
// all versions that the family's rules keep: never what was deleted, superseded or never written.
// TableReadOptions::max_versions counts what the filter lets through.
//
// The text: a filter is a name with arguments in parentheses; SKIP and WHILE come before a filter
// and bind strongest, then AND, then OR; parentheses group. An argument that is bytes stands in
// single quotes, a quote inside doubled ('it''s'); any bytes may, there are no other escapes. OP is
// one of < <= = != >= >. A COMPARATOR is bytes with its kind in front:
//   'binary:BYTES'            bytewise order
//   'binaryprefix:BYTES'      likewise, of as many bytes as these
//   'substring:TEXT'          contains it, whatever the case of ASCII letters; = and != alone
//   'regexstring:PATTERN'     a part of it matches; = and != alone
//   'regexstringnocase:PATTERN'
//
// Of rows:
//   PrefixFilter('bytes')                rows that begin with them
//   RowFilter(OP, 'COMPARATOR')
//   InclusiveStopFilter('row')           rows up to this one and with it
//   PageFilter(N)                        the first N rows that are shown
//   FuzzyRowFilter('row', 'mask', ...)   rows as long as one of these at least, and equal to it
//                                        wherever its mask, of the same length, has 0; 1: any byte
//   MultiRowRangeFilter('start', true, 'stop', false, ...)   rows of these ranges; true: the bound
//                                        is part of it; '': no bound
// Of cells:
//   FamilyFilter, QualifierFilter, ValueFilter(OP, 'COMPARATOR')
//   ColumnPrefixFilter('bytes'), MultipleColumnPrefixFilter('bytes', ...)
//   ColumnRangeFilter('from', true, 'to', false)   true: the bound is part of it; '': no bound
//   TimestampsFilter(MS, ...)
//   ColumnValueFilter('family', 'qualifier', OP, 'COMPARATOR')   this column's cells alone
//   KeyOnlyFilter(), KeyOnlyFilter(true)   without values; with their lengths, 4 bytes big-endian
//   FirstKeyOnlyFilter()                 the first cell of each row
//   ColumnCountGetFilter(N)              the first N columns of each row, their newest cell
//   ColumnPaginationFilter(N, M)         likewise behind the first M
// Of rows by what is in them:
//   SingleColumnValueFilter('family', 'qualifier', OP, 'COMPARATOR'[, missing, latest])
//       rows where the column's newest cell (latest, the default, true) or any cell (false) is so,
//       and those that lack the column unless `missing` is true. It has to be one that is read.
//   SingleColumnValueExcludeFilter(...)  likewise, without the column itself
//   DependentColumnFilter('family', 'qualifier'[, drop[, OP, 'COMPARATOR']])
//       cells with a timestamp that a cell of this column in the row has, of one that compares so;
//       drop true: without the column's own
//   SKIP filter                          rows of which it lets every cell through
//   WHILE filter                         everything up to the first cell or row that it refuses
//
// AND asks the filters from left to right, each for what those before have let through, also where
// that is known at the end of a row alone; but a SingleColumnValueFilter sees the columns that an
// Exclude before it leaves out. A PageFilter counts rows behind all others of its AND. OR asks all
// for everything, and shows what one of them shows. Where HBase's answer depends on how it walks
// (a scan that ColumnCountGetFilter ends, a PageFilter that each region counts for itself, an OR
// with a SingleColumnValueFilter that shows the other's refused cells) it is as is written here.
//
// Regular expressions take time linear in what they are matched with: no back references and no
// lookaround, which Parse refuses. They are those of Java otherwise, over bytes: . [...] [^...] \d
// \D \w \W \s \S \t \n \r \f \0 \xHH \Q..\E, ^ $ \A \z \Z \b \B, ( ) (?: ) | * + ? {n,m} and lazy
// forms, (?i) and (?s) in front. '.' is any byte; ^ is the beginning of the text, $ its end or the
// place before a line feed that ends it, \z the end alone.
#ifndef WINNOW_TABLE_FILTER_H_
#define WINNOW_TABLE_FILTER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

struct TableFilterNode;

// A small value that may be copied, and used by many reads and threads at once. The default one
// lets everything through.
class TableFilter {
 public:
  TableFilter() = default;

  // InvalidArgument says what is wrong and at which byte of the text. Texts are at most 64 KiB, and
  // filters nested at most 100 deep.
  static absl::StatusOr<TableFilter> Parse(std::string_view text);
  // Bytes as an argument: in quotes, those inside doubled.
  static std::string Quote(std::string_view bytes);

  // Of several filters; those that let everything through count too, and so does none at all. An
  // AND in an AND and an OR in an OR are no level of their own. InvalidArgument: nested over 100
  // deep.
  static absl::StatusOr<TableFilter> And(const std::vector<TableFilter>& filters);
  static absl::StatusOr<TableFilter> Or(const std::vector<TableFilter>& filters);

  struct FuzzyRow {
    std::string row;
    std::string mask;  // of the same length: '0' or 00 where a row's byte must be equal
  };
  // InvalidArgument: a mask of another length, or no row at all.
  static absl::StatusOr<TableFilter> FuzzyRows(const std::vector<FuzzyRow>& rows);

  struct RowRange {
    std::string start;
    bool includes_start = true;
    std::string stop;  // empty: no end
    bool includes_stop = false;
  };
  // The rows of any of these, which may overlap. InvalidArgument: there is none.
  static absl::StatusOr<TableFilter> RowRanges(const std::vector<RowRange>& ranges);

  bool is_set() const { return node_ != nullptr; }
  // A text that Parse takes, unless it is longer than that, for a filter that means the same;
  // empty: it lets everything through.
  std::string ToString() const;

 private:
  friend class TableFilterAccess;
  std::shared_ptr<const TableFilterNode> node_;
};

}  // namespace winnow

#endif  // WINNOW_TABLE_FILTER_H_
