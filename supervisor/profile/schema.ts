// The shape of a profile file in its three versions, with the leniencies that existing files rely
// on (bridge.md 4.1 to 4.4). The schema for editors is generated from the same definition.
import { z } from 'zod'
import { LOOPBACK_POLICY, PRIVATE_POLICY } from '../../shared/profile/network-policy.ts'
import {
  FEATURE_NAMES,
  OUTPUT_LIMIT_FIELDS,
  PROFILE_SCHEMA_VERSIONS,
  PROVIDER_WIRES,
  type ProfileSchemaVersion,
  STATE_KEEPERS,
  UNSUPPORTED_MODES
} from '../../shared/profile/profile.ts'
import {
  findIdleRemoval,
  PRESET_NAMES,
  REMOVABLE_FEATURES,
  writeRemoval
} from '../../shared/profile/profile-features.ts'
import { PROVIDER_KINDS, SUPPORT_STATUSES } from '../../shared/support/support-vocabulary.ts'
import type { IssuePath } from '../config-file/issue-path.ts'
import { pricing } from '../prices/pricing.ts'
import { PUBLIC_POLICIES, TLS_POLICIES } from './policies.ts'
import { callMembers } from './schema-calls.ts'
import {
  DESTINATION_PATTERN,
  destination,
  flag,
  identifier,
  modelName,
  tokenCount,
  variableName
} from './schema-values.ts'

const capabilities = z.strictObject({
  features: z
    .array(z.enum([...PRESET_NAMES, ...FEATURE_NAMES, ...REMOVABLE_FEATURES.map(writeRemoval)]))
    .min(1)
    .superRefine((words, context) => {
      const position = findIdleRemoval(words)
      if (position !== undefined) context.addIssue({ code: 'custom', path: [position] })
    })
    .describe(
      'What the model can do: presets and features; -name takes a feature away from a preset. Requests that need more are refused before any call.'
    ),
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

const WEIGHT_MAX = 100
const TARGETS_MIN = 2
const TARGETS_MAX = 16

const target = z.strictObject({
  profile_id: identifier.describe('A profile of the file, of the kind and the wire of the profile of the alias.'),
  upstream_model: modelName.describe('The model name that the provider of this profile knows.'),
  weight: z
    .int()
    .min(1)
    .max(WEIGHT_MAX)
    .default(1)
    .describe('The share of the conversations, beside equal priorities.'),
  priority: z.int().min(0).max(WEIGHT_MAX).default(0).describe('The lowest one that has a healthy target is used.')
})

const alias = z.strictObject(aliasMembers)
const aliasWithCapabilities = z.strictObject({
  ...aliasMembers,
  upstream_model: aliasMembers.upstream_model.exactOptional(),
  targets: z
    .array(target)
    .min(TARGETS_MIN)
    .max(TARGETS_MAX)
    .exactOptional()
    .describe('In place of upstream_model: several deployments of one model, which the operator declares equal.'),
  capabilities: capabilities.nullish().describe('Required on enabled aliases of every kind but native.'),
  output_limit_field: z
    .enum(OUTPUT_LIMIT_FIELDS)
    .exactOptional()
    .describe("Only chat_compatible: the name of the output limit. Default: the client's own, else max_tokens."),
  unsupported: unsupported.exactOptional(),
  pricing: pricing.exactOptional().describe('What its tokens cost; goes before the prices file.')
})

const profileMembers = {
  profile_id: identifier.describe('Unique in the file.'),
  provider_kind: z.enum(PROVIDER_KINDS),
  base_url: destination.meta({
    pattern: DESTINATION_PATTERN,
    description: 'https, or http on loopback with allow_loopback, or in a private network with allow_private.'
  }),
  network_policy_ref: identifier.meta({
    enum: [LOOPBACK_POLICY, PRIVATE_POLICY, ...Object.values(PUBLIC_POLICIES)],
    description:
      'loopback-development with allow_loopback, private-network with allow_private, otherwise the public policy of the kind.'
  }),
  tls_policy_ref: identifier.meta({
    enum: [...TLS_POLICIES],
    description: 'private-ca with ca_file, otherwise system-default.'
  }),
  allow_loopback: flag.default(false).describe('The provider runs on this machine and speaks plain http.')
}

const modelInventory = z
  .enum(['static', 'dynamic'])
  .nullish()
  .describe('dynamic: the models are discovered. Once in a file for native; other kinds need public_prefix.')

/** `off` without quotes is false in YAML 1.1. */
const tokenCounting = z
  .preprocess(value => (value === false ? 'off' : value), z.enum(['local', 'off']))
  .describe('Only chat_compatible. local (default): prompts are counted by the gateway; off: counting is refused.')

const wire = z
  .enum(PROVIDER_WIRES)
  .describe('Only chat_compatible. chat_completions (default), or responses: the requests go to <base_url>/responses.')

const state = z
  .enum(STATE_KEEPERS)
  .describe(
    'Only wire responses. provider (default): it keeps stored responses. gateway: its own store does, where one is on.'
  )

const publicPrefix = modelName
  .refine(text => /[/:]$/.test(text))
  .meta({ pattern: '^\\S*[/:]$', description: 'What stands before the id of a discovered model. Unique in the file.' })

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
    state: state.exactOptional(),
    token_counting: tokenCounting.exactOptional(),
    unsupported: unsupported.exactOptional(),
    ...callMembers,
    public_prefix: publicPrefix.exactOptional(),
    default_capabilities: capabilities
      .exactOptional()
      .describe('What the models of a dynamic inventory can do. Needed beside public_prefix.'),
    models: z.array(aliasWithCapabilities).default([])
  })
)

const schemaVersion = z.object({
  schema_version: z.enum(PROFILE_SCHEMA_VERSIONS).default('gateway.provider-profiles.v2')
})

/** The content of a file whose every single member is valid. */
export type FileContent = z.output<typeof fileV1> | z.output<typeof fileV2> | z.output<typeof fileV3>
export type ProfileContent = FileContent['profiles'][number]
export type AliasContent = ProfileContent['models'][number]
export type ProfileContentV3 = z.output<typeof fileV3>['profiles'][number]
export type AliasContentV3 = ProfileContentV3['models'][number]
export type CapabilitiesContent = z.output<typeof capabilities>

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
  const path = hideNames((issue?.path ?? []).filter(part => typeof part !== 'symbol'))
  return { path, hint: issue?.code === 'unrecognized_keys' ? ' has an unknown member' : '' }
}

/** The members whose own members have names of the operator's choice: content of the file, which no message repeats. */
const NAMED_ENTRIES = new Set<string | number>(['headers', 'query'])
/** Where such members stand: behind `profiles` and the index of one. */
const PROFILE_MEMBER = 2

function hideNames(path: IssuePath): IssuePath {
  return NAMED_ENTRIES.has(path[PROFILE_MEMBER] ?? '') ? path.slice(0, PROFILE_MEMBER + 1) : path
}
