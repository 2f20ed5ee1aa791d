// The shape of a keys file (keys.md 1). The schema for editors is generated from the same definition.
import { z } from 'zod'
import { KEY_NAME, KEY_NAME_RULE } from '../../shared/keys/key-name.ts'
import { BUDGET_PERIODS } from '../../shared/keys/key-set.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import type { FileProblem } from '../config-file/problems.ts'

const KEYS_SCHEMA_VERSION = 'gateway.keys.v1'

/** The explanation of a member that has another type or form, or is missing. It repeats no content of the file. */
function expected(what: string) {
  return { error: ({ input }: { input?: unknown }) => (input === undefined ? 'is missing' : `must be ${what}`) }
}

/** Of keys and of groups. */
export const keyName = z
  .string(expected(KEY_NAME_RULE))
  .regex(KEY_NAME, { error: `must be ${KEY_NAME_RULE}` })
  .describe(`${KEY_NAME_RULE}.`)

const positive = z.int(expected('a whole number above 0')).min(1, { error: 'must be a whole number above 0' })

/** A larger amount has no exact number of billionths, in which spend is counted. */
const AMOUNT_MAX = 9_000_000
const amountRule = `must be a number above 0 and at most ${AMOUNT_MAX}`

const budget = z
  .strictObject(
    {
      amount: z
        .number(expected('a number above 0'))
        .positive({ error: amountRule })
        .max(AMOUNT_MAX, { error: amountRule })
        .describe('In the currency of the file.'),
      period: z
        .enum(BUDGET_PERIODS, expected(`one of ${BUDGET_PERIODS.join(', ')}`))
        .describe('Boundaries are in UTC, and a week begins on Monday. A total budget never starts anew.')
    },
    expectedObject()
  )
  .describe('What may be spent in a period. It needs prices and a durable counter.')

const limits = z.strictObject(
  {
    requests_per_minute: positive.exactOptional().describe('Admitted model requests in any 60 seconds.'),
    tokens_per_minute: positive.exactOptional().describe('Reserved at the start of a request, settled at its end.'),
    concurrent_requests: positive.exactOptional().describe('Model requests that run at the same time.'),
    budget: budget.exactOptional()
  },
  expectedObject()
)

export const MODEL_RULE = 'the name of a model, or the beginning of names and a "*" at the end'
const MODEL_LENGTH_MAX = 256
export const modelPattern = z
  .string(expected(MODEL_RULE))
  .normalize('NFC')
  .refine(isModelPattern, { error: `must be ${MODEL_RULE}` })
  .meta({ minLength: 1, maxLength: MODEL_LENGTH_MAX, pattern: '^[^*\\s]*[^\\s]$', description: `${MODEL_RULE}.` })
const models = z.array(modelPattern, expected('a list of models')).min(1, { error: 'must name a model' })

const group = z.strictObject(
  {
    models: models.exactOptional().describe('What keys of the group may use at most. Absent: all.'),
    limits: limits.exactOptional().describe('What all keys of the group may use together.')
  },
  expectedObject()
)

/** White space and control, unassigned or zero-width characters are in no name of a model. */
function isModelPattern(text: string): boolean {
  const isName = text !== '' && text.length <= MODEL_LENGTH_MAX && !/[\p{White_Space}\p{C}]/u.test(text)
  return isName && !text.slice(0, -1).includes('*')
}

const SECRET_FORMS = ['env', 'file', 'sha256'] as const
const secretRule = `must have exactly one of ${SECRET_FORMS.join(', ')}`
const DIGEST_RULE = '64 hexadecimal digits in quotes'

const VARIABLE_RULE = 'the name of a variable, in capital letters'
const PATH_RULE = 'the path of a file'
const TEXT_LENGTH_MAX = 4096

const variable = z
  .string(expected(VARIABLE_RULE))
  .regex(/^[A-Z_][A-Z0-9_]{0,255}$/, { error: `must be ${VARIABLE_RULE}` })
const path = z
  .string(expected(PATH_RULE))
  .regex(/^[^\0]+$/, { error: `must be ${PATH_RULE}` })
  .max(TEXT_LENGTH_MAX, { error: `must be ${PATH_RULE}` })

const secret = z
  .strictObject(
    {
      env: variable.exactOptional().describe('Variable that holds the secret, or <name>_FILE that names a file.'),
      file: path.exactOptional().describe('File that holds the secret; a newline at its end is no part of it.'),
      sha256: z
        .string(expected(DIGEST_RULE))
        .regex(/^[0-9a-fA-F]{64}$/, { error: `must be ${DIGEST_RULE}` })
        .exactOptional()
        .describe('SHA-256 of the secret in hexadecimal digits, as `llm-gateway --new-key` prints it.')
    },
    expectedObject()
  )
  .refine(value => Object.keys(value).length === 1, { error: secretRule })
  .meta({ minProperties: 1, maxProperties: 1 })

const EXPIRY_RULE = 'a time such as 2027-01-31T00:00:00Z'

/** Without quotes it is a time of YAML 1.1 already. */
const time = z.preprocess(
  value => (value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value),
  z.iso.datetime({
    offset: true,
    error: ({ input }) => (input === undefined ? 'is missing' : `must be ${EXPIRY_RULE}`)
  })
)

/** Libraries skip a member named `__proto__`, so it is refused before. */
export function withoutPrototype<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(value => (Object.hasOwn(Object(value), '__proto__') ? null : value), schema)
}

const metadata = withoutPrototype(z.record(z.string(), z.string(expected('a text')), expected('a map of texts')))

const key = z.strictObject(
  {
    name: keyName,
    group: keyName.exactOptional().describe('A group of this file.'),
    secrets: z
      .array(secret, expected('a list of 1 or 2 secrets'))
      .min(1, { error: 'must be a list of 1 or 2 secrets' })
      .max(2, { error: 'must be a list of 1 or 2 secrets' })
      .describe('Two while one takes the place of the other.'),
    models: models
      .exactOptional()
      .describe('What the key may use; within a group both must allow a model. Absent: all.'),
    expires_at: time.exactOptional().describe('From then on the key is refused.'),
    enabled: z.boolean(expected('true or false')).default(true),
    limits: limits.exactOptional().describe('In addition to those of the group.'),
    metadata: metadata.exactOptional().describe('Shown to admins, nowhere else.')
  },
  expectedObject()
)

export const currencyCode = z
  .string(expected('a code of ISO 4217'))
  .regex(/^[A-Z]{3}$/, { error: 'must be a code of ISO 4217' })

export const keysFile = z.strictObject(
  {
    schema_version: z.literal(KEYS_SCHEMA_VERSION, expected(KEYS_SCHEMA_VERSION)),
    currency: currencyCode
      .exactOptional()
      .describe('ISO 4217, of all budgets and prices. Absent: that of the prices file, else USD.'),
    groups: withoutPrototype(z.record(keyName, group, expected('a map of groups'))).default({}),
    keys: z.array(key, expected('a list of keys')).min(1, { error: 'must have a key' })
  },
  expectedObject()
)

function expectedObject() {
  return expected('a map of members')
}

export type KeysContent = z.output<typeof keysFile>
export type KeyContent = KeysContent['keys'][number]
export type GroupContent = KeysContent['groups'][string]
export type LimitsContent = NonNullable<KeyContent['limits']>
export type SecretContent = KeyContent['secrets'][number]

/** Reads a parsed file. Returns its content, or every member that is wrong. */
export function readKeysShape(value: unknown): { content: KeysContent } | { problems: FileProblem[] } {
  const result = keysFile.safeParse(value)
  return result.success ? { content: result.data } : { problems: result.error.issues.map(toProblem) }
}

function toProblem({ code, path, message }: z.core.$ZodIssue): FileProblem {
  const place = path.filter(part => typeof part !== 'symbol')
  switch (code) {
    // A wrong name is content of the file: it may be a secret that stands in the wrong place.
    case 'unrecognized_keys':
      return { path: hideNames(place), explanation: 'has an unknown member' }
    case 'invalid_key':
      return { path: place.slice(0, -1), explanation: `the name of a member must be ${KEY_NAME_RULE}` }
    default:
      return { path: hideNames(place), explanation: message }
  }
}

/** Names of metadata are content of the file, which no message repeats. Those of groups and keys are shown in many places. */
function hideNames(path: IssuePath): IssuePath {
  return path[0] === 'keys' && path[2] === 'metadata' ? path.slice(0, 3) : path
}
