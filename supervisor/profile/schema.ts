// The shape of a profile file in its three versions, with the leniencies that existing files rely
// on (bridge.md 4.1 to 4.4). The schema for editors is generated from the same definition.
import { z } from 'zod'
import { canonicalDestination } from '../../shared/destination.ts'
import { MACHINE_TEXT_MAX } from '../../shared/machine-document.ts'
import { LOOPBACK_POLICY } from '../../shared/network-policy.ts'
import {
  FEATURE_NAMES,
  OUTPUT_LIMIT_FIELDS,
  PROFILE_SCHEMA_VERSIONS,
  PROVIDER_WIRES,
  type ProfileSchemaVersion,
  UNSUPPORTED_MODES
} from '../../shared/profile.ts'
import { PROVIDER_KINDS, SUPPORT_STATUSES } from '../../shared/support-vocabulary.ts'
import { PUBLIC_POLICIES, TLS_POLICY } from './policies.ts'

/** Longest text of an identifier or a label, in characters. */
const LABEL_LENGTH_MAX = 256

/** A text that is trimmed and brought into composed form. JavaScript trims U+FEFF as well, which is no white space in Unicode. */
const label = z
  .string()
  .refine(text => !text.includes('\ufeff'))
  .trim()
  .normalize('NFC')
  .refine(hasLabelLength)

const identifier = label
  .regex(/^[a-z0-9]([a-z0-9._-]{0,254}[a-z0-9])?$/)
  .meta({ minLength: 1, maxLength: LABEL_LENGTH_MAX })

/** Any letters, without white space and without controls, unassigned or zero-width characters. */
const modelName = label
  .refine(text => !/[\p{White_Space}\p{C}]/u.test(text))
  .meta({ minLength: 1, maxLength: LABEL_LENGTH_MAX, pattern: '^\\S+$' })

const variableName = z
  .string()
  .max(LABEL_LENGTH_MAX)
  .regex(/^[A-Z_][A-Z0-9_]*$/)

/** An IPv6 address with a zone. URLs have no zones, so the URL parser refuses one; here it is a wrong destination, not a wrong shape. */
const ZONED_HOST = /^(https?:\/\/\[[0-9a-f:.]+)%[^\]/]*\]/i

/** A destination in canonical form, and whether its host had an IPv6 zone. */
export interface Destination {
  readonly url: string
  readonly hasZone: boolean
}

const destination = z.string().transform((text, context): Destination => {
  const url = canonicalDestination(text.replace(ZONED_HOST, '$1]'))
  if (url !== undefined && url.length <= MACHINE_TEXT_MAX) return { url, hasZone: ZONED_HOST.test(text) }
  context.addIssue({ code: 'custom' })
  return z.NEVER
})

/** Accepts 0, 1 and the usual words in any case as well. */
const flag = z.preprocess(readFlag, z.boolean())
/** Accepts a text of digits and a number such as `10.0` as well. */
const tokenCount = z.preprocess(readInteger, z.int().positive())

const capabilities = z.strictObject({
  features: z
    .array(z.enum(FEATURE_NAMES))
    .min(1)
    .describe('What the model can do. Requests that need more are refused before any call.'),
  limits: z.strictObject({
    context_window: tokenCount.describe('Tokens of prompt and response together.'),
    max_input_tokens: tokenCount.nullish().describe('At most context_window.'),
    max_output_tokens: tokenCount
      .nullish()
      .describe('At most context_window. Larger output limits of clients are refused.')
  })
})

const aliasMembers = {
  public_alias: modelName.describe('The model name that clients use. Unique in the file.'),
  upstream_model: modelName.describe('The model name that the provider knows.'),
  capability_profile: modelName.describe('A label of your choice for the reviewed capabilities.'),
  support_status: z.enum(SUPPORT_STATUSES).describe('blocked refuses every request for the alias.'),
  enabled: flag.default(true).describe('A disabled alias is unknown to clients.'),
  deprecated: flag.default(false).describe('Reported only.')
}

const unsupported = z
  .enum(UNSUPPORTED_MODES)
  .describe(
    'ignore (default): a member that the provider has no place for is left out, and the response says so. refuse: 400.'
  )

const alias = z.strictObject(aliasMembers)
const aliasWithCapabilities = z.strictObject({
  ...aliasMembers,
  capabilities: capabilities.nullish().describe('Required on enabled aliases of every kind but native.'),
  output_limit_field: z
    .enum(OUTPUT_LIMIT_FIELDS)
    .exactOptional()
    .describe("Only chat_compatible: the name of the output limit. Default: the client's own, else max_tokens."),
  unsupported: unsupported.exactOptional()
})

const profileMembers = {
  profile_id: identifier.describe('Unique in the file.'),
  provider_kind: z.enum(PROVIDER_KINDS),
  base_url: destination.meta({
    pattern: '^https?://[^?#@\\\\\\s]+$',
    description: 'https, or http on loopback together with allow_loopback.'
  }),
  network_policy_ref: identifier.meta({
    enum: [LOOPBACK_POLICY, ...Object.values(PUBLIC_POLICIES)],
    description: 'loopback-development with allow_loopback, otherwise the public policy of the kind.'
  }),
  tls_policy_ref: identifier.meta({ enum: [TLS_POLICY], description: 'The only TLS policy.' }),
  allow_loopback: flag.default(false).describe('The provider runs on this machine and speaks plain http.')
}

const modelInventory = z
  .enum(['static', 'dynamic'])
  .nullish()
  .describe('dynamic: the models are discovered. Only native, and only once in a file.')

/** `off` without quotes is false in YAML 1.1. */
const tokenCounting = z
  .preprocess(value => (value === false ? 'off' : value), z.enum(['local', 'off']))
  .describe('Only chat_compatible. local (default): prompts are counted by the gateway; off: counting is refused.')

const wire = z
  .enum(PROVIDER_WIRES)
  .describe('Only chat_compatible. chat_completions (default), or responses: the requests go to <base_url>/responses.')

/** One version of the file: its profiles have the members that this version knows. */
function fileSchema<Version extends ProfileSchemaVersion, Profile extends z.ZodType>(
  version: Version,
  profile: Profile
) {
  return z.strictObject({ schema_version: z.literal(version), profiles: z.array(profile).min(1) })
}

const fileV1 = fileSchema(
  'gateway.provider-profiles.v1',
  z.strictObject({ ...profileMembers, credential_env: variableName, models: z.array(alias).min(1) })
)
const fileV2 = fileSchema(
  'gateway.provider-profiles.v2',
  z.strictObject({
    ...profileMembers,
    credential_env: variableName,
    model_inventory: modelInventory,
    models: z.array(alias).default([])
  })
)
/** The version that new files use. */
export const fileV3 = fileSchema(
  'gateway.provider-profiles.v3',
  z.strictObject({
    ...profileMembers,
    credential_env: variableName.nullish().describe('Name of the variable that holds the credential. Absent: keyless.'),
    model_inventory: modelInventory,
    wire: wire.exactOptional(),
    token_counting: tokenCounting.exactOptional(),
    unsupported: unsupported.exactOptional(),
    models: z.array(aliasWithCapabilities).default([])
  })
)

const schemaVersion = z.object({
  schema_version: z.enum(PROFILE_SCHEMA_VERSIONS).default('gateway.provider-profiles.v2')
})

/** The content of a file whose every single member is valid. */
export type FileContent = z.output<typeof fileV1> | z.output<typeof fileV2> | z.output<typeof fileV3>
export type ProfileContent = FileContent['profiles'][number]

/** Names of the schema and indices of lists. */
export type IssuePath = ReadonlyArray<string | number>

/** Where a file breaks the schema. A member that the schema does not have is not named, because its name is content of the file. */
export interface ShapeIssue {
  readonly path: IssuePath
  readonly hint: string
}

/** Reads a parsed file by the rules of its version. Returns its content, or the first member that is wrong. */
export function readFileShape(value: unknown): { file: FileContent } | { issue: ShapeIssue } {
  const version = schemaVersion.safeParse(value)
  if (!version.success) return { issue: firstIssue(version.error) }
  const { schema_version } = version.data
  // Not by assignment, which would drop an own member named `__proto__` instead of refusing it.
  const withVersion = Object.fromEntries([...Object.entries(Object(value)), ['schema_version', schema_version]])
  const result = parseVersion(schema_version, withVersion)
  return result.success ? { file: result.data } : { issue: firstIssue(result.error) }
}

function parseVersion(version: ProfileSchemaVersion, value: unknown): z.ZodSafeParseResult<FileContent> {
  switch (version) {
    case 'gateway.provider-profiles.v1':
      return fileV1.safeParse(value)
    case 'gateway.provider-profiles.v2':
      return fileV2.safeParse(value)
    case 'gateway.provider-profiles.v3':
      return fileV3.safeParse(value)
  }
}

function firstIssue({ issues }: z.ZodError): ShapeIssue {
  const [issue] = issues
  const path = (issue?.path ?? []).filter(part => typeof part !== 'symbol')
  return { path, hint: issue?.code === 'unrecognized_keys' ? ' has an unknown member' : '' }
}

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
