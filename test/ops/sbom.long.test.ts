// The bills of materials, asked of npm: whole, and valid by the schema of their format.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { NOTICES } from '../../ops/build/notices.ts'
import { writeSboms } from '../../ops/build/sbom.ts'
import { BUNDLED } from '../../ops/build/shipped.ts'

const root = join(import.meta.dirname, '../..')
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const [bom, spdx, signatures] = JSON.parse(readFileSync(join(root, 'test/fixtures/schemas/cyclonedx-1.5.json'), 'utf8'))
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, schemas: [spdx, signatures] })
const validate = ajv.compile(bom)

interface Component {
  group?: string
  name: string
  version: string
  purl: string
  licenses: unknown[]
  hashes: unknown[]
  properties: Array<{ name: string; value: string }>
}

const sboms = writeSboms()
const cyclonedx: { metadata: { component: Component }; components: Component[] } = JSON.parse(sboms.cyclonedx)
const nameOf = (component: Component) =>
  `${component.group === undefined ? '' : `${component.group}/`}${component.name}@${component.version}`
/** Each package with its license, as the notices list them: `@fastify/error@4.2.1 (MIT)`. */
const noticed = [...readFileSync(NOTICES, 'utf8').matchAll(/^((?:@[\w.-]+\/)?[\w.-]+@\d[\w.+-]*) \(/gm)].map(
  ([, noticed = '']) => noticed
)

t.test('CycloneDX: valid by its schema', async t => {
  t.notOk(validate({ ...cyclonedx, components: [{ ...cyclonedx.components[0], type: 'none' }] }), 'the schema refuses')
  t.ok(validate(cyclonedx), JSON.stringify(validate.errors))
})

t.test('CycloneDX: each package of the notices, with version, license, address and hash, and no other', async t => {
  t.equal(nameOf(cyclonedx.metadata.component), `${name}@${version}`)
  t.ok(noticed.length > 100)
  t.strictSame([...new Set(cyclonedx.components.map(nameOf))].toSorted(), [...new Set(noticed)].toSorted())
  for (const component of cyclonedx.components) {
    t.ok(component.licenses.length > 0 && component.hashes.length > 0, nameOf(component))
    t.equal(decodeURIComponent(component.purl), `pkg:npm/${nameOf(component)}`)
  }
})

t.test('CycloneDX: what is bundled is said to be', async t => {
  const isBundled = ({ properties }: Component) => properties.some(({ name }) => name === 'cdx:npm:package:bundled')
  t.strictSame(
    cyclonedx.components.filter(isBundled).map(({ name }) => name),
    BUNDLED
  )
  const sources = globSync('ops/dashboard/src/**/*.{ts,tsx,css}', { cwd: root })
  const imported = sources.flatMap(path =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/(?:from|import) '((?:@[\w-]+\/)?[a-z][\w-]*)/g)].map(
      ([, specifier = '']) => specifier
    )
  )
  t.strictSame(
    [...new Set(imported), 'swagger-ui-dist'].toSorted(),
    BUNDLED,
    'all that the dashboard imports is listed'
  )
})

t.test('SPDX: the same packages', async t => {
  const { spdxVersion, packages } = JSON.parse(sboms.spdx)
  t.equal(spdxVersion, 'SPDX-2.3')
  const names: string[] = packages.map((one: { name: string; versionInfo: string }) => `${one.name}@${one.versionInfo}`)
  t.strictSame([...new Set(names)].toSorted(), [...new Set([...noticed, `${name}@${version}`])].toSorted())
})
