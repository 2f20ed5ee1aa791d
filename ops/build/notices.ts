// Writes THIRD_PARTY_NOTICES: the licenses of every package that an installation or the container has, and of what is bundled into the
// dashboard and the documentation pages. Run it after a change of dependencies: `npm run notices`; a test fails where it was forgotten.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(import.meta.dirname, '../..')
export const NOTICES = join(root, 'THIRD_PARTY_NOTICES')
/** Development dependencies whose code is part of the build. */
const BUNDLED = ['preact', 'swagger-ui-dist', 'uplot']
const LICENSE_FILE = /^(licen[cs]e|copying|notice)([-.].*)?$/i
const RULE = '-'.repeat(80)

interface Locked {
  version: string
  license?: string
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  link?: boolean
}

interface Package {
  name: string
  license: string
  text: string
}

/** The notices of the packages in the lock file, with the texts of their license files; equal texts stand once. */
export function writeNotices(): string {
  const packages = listPackages()
  const texts = Map.groupBy(packages, ({ text }) => text)
  const parts = [...texts].map(([text, members]) => {
    const names = members.map(({ name, license }) => `${name} (${license})`).join('\n')
    return `${RULE}\n${names}\n\n${text || 'The package has no license file; its license is the one named above.'}\n`
  })
  return `Licenses of the packages that llm-gateway is shipped with.\n\n${parts.join('\n')}`
}

function listPackages(): Package[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  const shipped = Object.entries(lock.packages).filter(([path, locked]) => path !== '' && isShipped(path, locked))
  return shipped
    .map(([path, { version, license = 'unknown', optional }]) => ({
      name: `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
      license,
      // Some are binaries for other systems and not installed here.
      text: optional ? '' : readLicense(join(root, path))
    }))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
}

function isShipped(path: string, { dev, devOptional, link }: Locked): boolean {
  if (BUNDLED.some(name => path === `node_modules/${name}`)) return true
  return path.startsWith('node_modules/') && !dev && !devOptional && !link
}

function readLicense(folder: string): string {
  if (!existsSync(folder)) throw new Error(`${folder} is not installed; run npm ci.`)
  const files = readdirSync(folder)
    .filter(name => LICENSE_FILE.test(name))
    .sort()
  return files.map(name => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim()).join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(NOTICES, writeNotices())
