// The values that members of a profile file have in common, with the leniencies that existing files
// rely on (bridge.md 4.2 to 4.4).
import { z } from 'zod'
import { MACHINE_TEXT_MAX } from '../../shared/documents/machine-document.ts'
import { canonicalDestination } from '../../shared/net/destination.ts'

/** Longest text of an identifier or a label, in characters. */
const LABEL_LENGTH_MAX = 256

/** A text that is trimmed and brought into composed form. JavaScript trims U+FEFF as well, which is no white space in Unicode. */
const label = z
  .string()
  .refine(text => !text.includes('\ufeff'))
  .trim()
  .normalize('NFC')
  .refine(hasLabelLength)

export const identifier = label
  .regex(/^[a-z0-9]([a-z0-9._-]{0,254}[a-z0-9])?$/)
  .meta({ minLength: 1, maxLength: LABEL_LENGTH_MAX })

/** Any letters, without white space and without controls, unassigned or zero-width characters. */
export const modelName = label
  .refine(text => !/[\p{White_Space}\p{C}]/u.test(text))
  .meta({ minLength: 1, maxLength: LABEL_LENGTH_MAX, pattern: '^\\S+$' })

export const variableName = z
  .string()
  .max(LABEL_LENGTH_MAX)
  .regex(/^[A-Z_][A-Z0-9_]*$/)

/** Longest path of a file and longest text of a request, in characters. */
const TEXT_LENGTH_MAX = 4096

/** A path as it is written: relative ones start at the working directory, as those of settings do. */
export const filePath = z
  .string()
  .min(1)
  .max(TEXT_LENGTH_MAX)
  .refine(text => !text.includes('\0'))

/** A text that goes into a request, without control characters. */
export const requestText = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .refine(text => !/\p{Cc}/u.test(text))

/** An IPv6 address with a zone. URLs have no zones, so the URL parser refuses one; here it is a wrong destination, not a wrong shape. */
const ZONED_HOST = /^(https?:\/\/\[[0-9a-f:.]+)%[^\]/]*\]/i

/** A destination in canonical form, and whether its host had an IPv6 zone. */
export interface Destination {
  readonly url: string
  readonly hasZone: boolean
}

export const destination = z.string().transform((text, context): Destination => {
  const url = canonicalDestination(text.replace(ZONED_HOST, '$1]'))
  if (url !== undefined && url.length <= MACHINE_TEXT_MAX) return { url, hasZone: ZONED_HOST.test(text) }
  context.addIssue({ code: 'custom' })
  return z.NEVER
})

/** The form of a destination for editors. */
export const DESTINATION_PATTERN = '^https?://[^?#@\\\\\\s]+$'

/** Accepts 0, 1 and the usual words in any case as well. */
export const flag = z.preprocess(readFlag, z.boolean())
/** Accepts a text of digits and a number such as `10.0` as well. */
export const tokenCount = z.preprocess(readInteger, z.int().positive())

function hasLabelLength(text: string): boolean {
  const { length } = text.length > 2 * LABEL_LENGTH_MAX ? text : [...text]
  return length > 0 && length <= LABEL_LENGTH_MAX
}

const TRUE_WORDS = new Set(['1', 'true', 't', 'yes', 'y', 'on'])
const FALSE_WORDS = new Set(['0', 'false', 'f', 'no', 'n', 'off'])

function readFlag(value: unknown): unknown {
  const word = typeof value === 'number' || typeof value === 'string' ? String(value).toLowerCase() : undefined
  if (word === undefined) return value
  if (TRUE_WORDS.has(word)) return true
  return FALSE_WORDS.has(word) ? false : value
}

function readInteger(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,16}$/.test(value.trim()) ? Number(value) : value
}
