// The response header that names the fields of a request which had no effect (decisions.md 70).

export const IGNORED_HEADER = 'x-gateway-ignored'

const HEADER_BYTES_MAX = 1024
/** Header values are bytes: each character of this text is one byte of `…` in UTF-8. */
const MORE = Buffer.from('…').toString('latin1')

/**
 * The value of the header: the names, at most 1 KiB of them. Where they are more, positions in lists are left out first, so that a long
 * history does not hide the other names.
 */
export function writeIgnoredHeader(names: readonly string[]): string {
  const all = names.join(', ')
  if (all.length <= HEADER_BYTES_MAX) return all
  let text = ''
  for (const name of new Set(names.map(name => name.replaceAll(/\[\d+\]/g, '[]')))) {
    const longer = text === '' ? name : `${text}, ${name}`
    if (longer.length > HEADER_BYTES_MAX) return text === '' ? MORE : `${text}, ${MORE}`
    text = longer
  }
  return text
}
