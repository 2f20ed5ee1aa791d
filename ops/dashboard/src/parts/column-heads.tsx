// The heads of the columns of a table.

export function ColumnHeads({ names }: { names: readonly string[] }) {
  return names.map(name => (
    <th key={name} scope="col">
      {name}
    </th>
  ))
}
