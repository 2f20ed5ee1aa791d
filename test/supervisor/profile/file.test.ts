// Cases of the bridge contract on reading and parsing a profile file, and on hostile ones.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { StartupError } from '../../../shared/startup-error.ts'
import type { ConfigFile } from '../../../supervisor/config-file/file.ts'
import { parseConfigText } from '../../../supervisor/config-file/read.ts'
import { readProfileDocument } from '../../../supervisor/profile/document.ts'
import { PROFILE_FILE } from '../../../supervisor/profile/load.ts'
import { resolveProfilePath } from '../../../supervisor/profile/path.ts'
import * as fc from '../../support/properties.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import {
  baseFile,
  baseProfile,
  createFileInspector,
  expectRefusal,
  type Inspected,
  inspect,
  MALFORMED_MESSAGE,
  SCHEMA_MESSAGE,
  withKey
} from './support.ts'

const inspectFile = createFileInspector(t)
const parseProfileText = (file: ConfigFile) => parseConfigText(file, PROFILE_FILE)

const FILE_BYTES_MAX = 1_048_576
/** A document that a machine reads is short for every file. */
const DOCUMENT_LENGTH_MAX = 300

const baseYaml = `schema_version: gateway.provider-profiles.v2
profiles:
  - profile_id: p1
    provider_kind: chat_compatible
    base_url: https://up.example/v1
    credential_env: UP_KEY
    network_policy_ref: public-openai
    tls_policy_ref: system-default
    models:
      - public_alias: bridge/a
        upstream_model: model-a
        capability_profile: model-a-v1
        support_status: stable
`

function expectMalformed(t: Test, result: Inspected): void {
  expectRefusal(t, result, 'invalid_profile_schema', MALFORMED_MESSAGE)
  t.ok(result.output.length < DOCUMENT_LENGTH_MAX)
}

t.test(
  'bridge 34: duplicate keys at any depth, a second document, an unknown tag and a tab in the indentation are malformed',
  async t => {
    const revision = inspectFile(baseFile).document.config_revision
    t.equal(inspectFile(baseYaml).document.config_revision, revision)
    const wrong = [
      `${baseYaml}schema_version: gateway.provider-profiles.v2\n`,
      baseYaml.replace('    provider_kind', '    profile_id: p2\n    provider_kind'),
      baseYaml.replace('support_status: stable', 'support_status: stable\n        "public_alias": other'),
      `${baseYaml}---\nprofiles: []\n`,
      `${baseYaml}---\n`,
      baseYaml.replace('p1', '!secret p1'),
      baseYaml.replace('p1', '!!python/object:os.system p1'),
      baseYaml.replace('p1', '!!binary cDE='),
      baseYaml.replace('profiles:', 'profiles: !!set'),
      baseYaml.replace('    provider_kind', '\tprovider_kind'),
      baseYaml.replace('p1', '{[a, b]: 1}'),
      baseYaml.replace('p1', '*missing'),
      baseYaml.replace('p1', '"unfinished'),
      baseYaml.replace('    credential_env', '   credential_env')
    ]
    for (const text of wrong) {
      const result = inspectFile(text)
      expectMalformed(t, result)
      t.match(result.warnings, [/^The problem is in the profile file: line \d+$/])
    }
    t.equal(inspectFile(`\ufeff${baseYaml}`).exitCode, 0, 'a byte order mark is allowed')
    t.equal(inspectFile(`${baseYaml}...\n`).exitCode, 0, 'so is the end of the document')
  }
)

t.test('bridge 35: anchors and aliases are accepted', async t => {
  const text = baseYaml.replace('p1', '&name p1').replace('upstream_model: model-a', 'upstream_model: *name')
  const { exitCode, document } = inspectFile(text)
  t.equal(exitCode, 0)
  t.equal(document.profiles[0].models[0].upstream_model, 'p1')
})

t.test('bridge 36: a merge that repeats a member is malformed; one that overrides nothing is accepted', async t => {
  const models = (second: string) => `${baseYaml.replace('- public_alias', '- &model\n        public_alias')}${second}`
  expectMalformed(t, inspectFile(models('      - <<: *model\n        public_alias: bridge/b\n')))
  expectMalformed(t, inspectFile(models('      - {public_alias: bridge/b, <<: *model}\n')))
  expectMalformed(t, inspectFile(models('      - <<: [*model, *model]\n')))
  expectMalformed(t, inspectFile(models('      - <<: text\n')))
  const shared = `${baseYaml.replace(/ {8}upstream_model[\s\S]*stable\n/, '')}        <<: &shared
          upstream_model: model-a
          capability_profile: model-a-v1
          support_status: stable
      - {public_alias: bridge/b, <<: [*shared]}
`
  const { exitCode, document } = inspectFile(shared)
  t.equal(exitCode, 0)
  t.match(document.profiles[0].models, [
    { public_alias: 'bridge/a', upstream_model: 'model-a' },
    { public_alias: 'bridge/b', upstream_model: 'model-a', support_status: 'stable' }
  ])
  t.equal(inspectFile(baseYaml.replace('p1', '"<<"')).exitCode, 2)
})

t.test('bridge 38: JSON is read strictly', async t => {
  const json = JSON.stringify(baseFile)
  const inspectJson = (text: string) => {
    const name = 'strict.json'
    return inspectFile(text, { name })
  }
  t.equal(inspectJson(` ${json}\n`).exitCode, 0)
  const wrong = [
    json.replace('{', '{"profiles":[],'),
    json.replace('"profile_id"', '"profile_id":"p2","profile_id"'),
    json.replace('"public_alias"', '"public\\u005falias":"x","public_alias"'),
    `${json}x`,
    `${json}{}`,
    `\ufeff${json}`,
    '',
    ' ',
    `// comment\n${json}`,
    json.replace('}', ',}'),
    json.replaceAll('"', "'"),
    json.replace('"p1"', 'NaN'),
    `${'['.repeat(65)}${']'.repeat(65)}`
  ]
  for (const text of wrong) expectMalformed(t, inspectJson(text))
  for (const text of ['[]', 'null', '{}', '1', '"text"', '{"profiles":[]}', `${'['.repeat(64)}${']'.repeat(64)}`]) {
    expectRefusal(t, inspectJson(text), 'invalid_profile_schema', SCHEMA_MESSAGE)
    expectRefusal(t, inspectFile(text), 'invalid_profile_schema', SCHEMA_MESSAGE)
  }
  expectRefusal(t, inspectFile(''), 'invalid_profile_schema', SCHEMA_MESSAGE)
})

t.test('bridge 39: a file of 1 048 576 bytes is read, one more byte is refused', async t => {
  /** With a comment in YAML, with blanks in JSON. */
  const fill = (text: string, bytes: number) =>
    text + (text === baseYaml ? '#' : ' ').repeat(bytes - Buffer.byteLength(text))
  const json = JSON.stringify(baseFile)
  for (const [text, name] of [
    [baseYaml, 'a.yaml'],
    [json, 'a.json']
  ] as const) {
    t.equal(inspectFile(fill(text, FILE_BYTES_MAX), { name }).exitCode, 0)
    const larger = inspectFile(fill(text, FILE_BYTES_MAX + 1), { name })
    expectRefusal(t, larger, 'invalid_profile_schema', 'Provider profile config exceeds the size limit.')
  }
  const odd = inspectFile(Buffer.alloc(FILE_BYTES_MAX + 1, 0xff), { name: 'large.txt' })
  t.equal(odd.document.error.message, 'Provider profile config exceeds the size limit.', 'the size is checked first')
})

t.test('bridge 40: each way in which a file cannot be read has its message, and none shows the path', async t => {
  const folder = createTemporaryFolder(t, 'private-name-')
  mkdirSync(join(folder, 'x.json'))
  writeFileSync(join(folder, 'a.txt'), baseYaml)
  writeFileSync(join(folder, 'none'), baseYaml)
  writeFileSync(join(folder, 'utf16.yaml'), Buffer.from(`\ufeff${baseYaml}`, 'utf16le'))
  writeFileSync(join(folder, 'broken.txt'), Buffer.from([0xc3, 0x28]))
  writeFileSync(join(folder, 'A.YAML'), baseYaml)
  const suffix = 'Provider profile config must use a .json, .yaml, or .yml suffix.'
  const encoding = 'Provider profile config must be readable UTF-8.'
  const cases = {
    'a.txt': suffix,
    none: suffix,
    'missing.yaml': 'Provider profile config cannot be read.',
    'a.txt/b.yaml': 'Provider profile config cannot be read.',
    'x.json': encoding,
    'utf16.yaml': encoding,
    'broken.txt': encoding
  }
  for (const [name, message] of Object.entries(cases)) {
    const result = inspect(withKey, { configPath: join(folder, name) })
    expectRefusal(t, result, 'invalid_profile_schema')
    t.equal(result.document.error.message, message)
    t.notMatch(result.output + result.warnings.join(), /private-name/)
  }
  for (const device of ['/dev/zero', '/dev/null']) {
    t.equal(inspect(withKey, { configPath: device }).document.error.message, encoding)
  }
  t.equal(inspect(withKey, { configPath: join(folder, 'A.YAML') }).exitCode, 0)
})

t.test('bridge 41: two spellings of one profile path are equal, also through a link', async t => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'a.yaml')
  const link = join(folder, 'link.yaml')
  writeFileSync(file, baseYaml)
  symlinkSync(file, link)
  for (const [configPath, GATEWAY_CONFIG] of [
    [file, link],
    [link, file],
    [relative(process.cwd(), file), file],
    [`${folder}/./sub/../a.yaml`, link]
  ] as const) {
    const { exitCode, document } = inspect({ ...withKey, GATEWAY_CONFIG }, { configPath })
    t.equal(exitCode, 0)
    t.equal(document.profiles[0].profile_id, 'p1')
  }
  t.equal(inspect({ ...withKey, GATEWAY_CONFIG: link }).exitCode, 0)
  t.equal(inspect({ ...withKey, GATEWAY_CONFIG: '' }, { configPath: file }).exitCode, 0)
  const missing = join(folder, 'sub', 'missing.yaml')
  t.equal(
    resolveProfilePath({ flag: missing, variable: `${folder}/sub/../sub/missing.yaml` }),
    resolveProfilePath({ flag: missing, variable: undefined })
  )
})

t.test('bridge 42: two different profile paths disagree', async t => {
  const result = inspect({ GATEWAY_CONFIG: 'b.yaml' }, { configPath: 'a.yaml' })
  expectRefusal(t, result, 'invalid_profile_schema', 'CLI and environment provider config paths disagree.')
})

t.test('bridge 43: a profile path with blanks around it, or an empty flag, is invalid', async t => {
  for (const result of [
    inspect({ GATEWAY_CONFIG: ' /x.yaml' }),
    inspect({ GATEWAY_CONFIG: '/x.yaml ' }),
    inspect({}, { configPath: ' /x.yaml' }),
    inspect({}, { configPath: '' })
  ]) {
    expectRefusal(t, result, 'invalid_profile_schema', 'Provider config path is invalid.')
  }
})

t.test('a path below the home directory may be written with a tilde', async t => {
  t.equal(
    resolveProfilePath({ flag: '~/gateway-profile.yaml', variable: undefined }),
    resolveProfilePath({ flag: undefined, variable: `${process.env.HOME}/gateway-profile.yaml` })
  )
})

t.test('the path and the credential may come from the .env file, the credential also from a secret file', async t => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'a.yaml')
  const envFile = join(folder, 'env')
  writeFileSync(file, baseYaml)
  writeFileSync(envFile, `GATEWAY_CONFIG=${file}\nUP_KEY=hunter2-of-the-profile\n`)
  t.equal(inspect({}, { envFile }).document.profiles[0].profile_id, 'p1')
  const native = { ...baseProfile, provider_kind: 'native', network_policy_ref: 'public-native' }
  const named = { ...baseFile, profiles: [{ ...native, credential_env: 'UPSTREAM_CREDENTIALS' }] }
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, 'a credential\n')
  t.equal(inspectFile(named, { environment: { UPSTREAM_CREDENTIALS_FILE: secretFile } }).exitCode, 0)
})

t.test(
  'settings of the native mode do not disturb a profile file, and its credential names are no unknown settings',
  async t => {
    const named = { ...baseFile, profiles: [{ ...baseProfile, credential_env: 'UPSTREAM_OTHER_KEY' }] }
    const environment = {
      UPSTREAM_OTHER_KEY: 'k',
      UPSTREAM_USER: 'u',
      UPSTREAM_PASSWORD: 'p',
      UPSTREAM_CREDENTIALS: '%'
    }
    const { exitCode, warnings } = inspectFile(named, { environment })
    t.equal(exitCode, 0)
    t.same(warnings, [])
    t.match(inspectFile(named, { environment: { ...environment, UPSTREAM_OTHER_KEYS: 'k' } }).warnings, [/OTHER_KEYS/])
  }
)

/** Runs a function; returns the error that it throws, which must be a refusal. */
function refusalOf(run: () => unknown): StartupError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (!StartupError.is(error)) throw error
    return error
  }
}

const yamlPiece = fc.constantFrom(
  ...[
    'a',
    'b',
    'profiles',
    ': ',
    ':',
    '- ',
    '\n',
    '\n  ',
    '\n    ',
    '\t',
    '[',
    ']',
    '{',
    '}',
    ', ',
    '&a ',
    '*a',
    '<<: ',
    '? '
  ],
  ...[
    '|',
    '>',
    '|-\n ',
    '"',
    "'",
    '#',
    '%YAML 1.2\n',
    '---',
    '...',
    '!!str ',
    '!x ',
    '~',
    'no',
    '1',
    '1:2',
    '\r',
    '\u2028',
    '\ufeff',
    '\0'
  ]
)

t.test('for any text the parser returns a profile set or throws a refusal', async () => {
  const text = fc.oneof(
    fc.array(yamlPiece, { maxLength: 40 }).map(pieces => pieces.join('')),
    fc.string(),
    fc.json()
  )
  fc.assert(
    fc.property(text, fc.constantFrom('json' as const, 'yaml' as const), (text, format) => {
      const error = refusalOf(() => readProfileDocument(parseProfileText({ text, format })))
      if (error?.code !== 'invalid_profile_schema') throw new Error('an arbitrary text was accepted')
    }),
    { numRuns: 3_000 }
  )
})

t.test('what JSON.parse accepts with unique keys has the same value here, in both formats', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const read = parseProfileText({ text, format: 'json' })
      if (JSON.stringify(read) !== JSON.stringify(JSON.parse(text))) throw new Error(text)
    }),
    { numRuns: 2_000 }
  )
})

t.test('any change of a valid file is accepted or refused with a code of the contract', async () => {
  const mutation = fc.tuple(fc.nat(baseYaml.length), fc.nat(12), fc.oneof(yamlPiece, fc.string({ maxLength: 8 })))
  const codes = new Set(['invalid_profile_schema', 'duplicate_profile_id', 'duplicate_model_alias'])
  fc.assert(
    fc.property(mutation, ([at, removed, inserted]) => {
      const text = `${baseYaml.slice(0, at)}${inserted}hunter2${baseYaml.slice(at + removed)}`
      const error = refusalOf(() => readProfileDocument(parseProfileText({ text, format: 'yaml' })))
      if (error !== undefined && !codes.has(error.code)) throw new Error(error.code)
      if (error?.summary.includes('hunter2') === true) throw new Error('content is shown')
    }),
    { numRuns: 2_000 }
  )
})
