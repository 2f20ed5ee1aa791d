// The names of members: camel case in the code, snake case in documents. Only the members of the given object itself are renamed.

type CamelName<Name> = Name extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<CamelName<Rest>>}` : Name

type Renamed<Source> = Source extends unknown
  ? { [Name in keyof Source as CamelName<Name>]: Exclude<Source[Name], undefined> }
  : never

/** The object with camel-case names and without undefined members. */
export function toCamelCase<Source extends object>(source: Source): Renamed<Source> {
  return rename(source, name => name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())) as never
}

/** The object with snake-case names and without undefined members. */
export function toSnakeCase(source: object): Record<string, unknown> {
  return rename(source, name => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`))
}

function rename(source: object, toName: (name: string) => string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(source).flatMap(([name, value]) => (value === undefined ? [] : [[toName(name), value]]))
  )
}
