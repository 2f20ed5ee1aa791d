// Writes THIRD_PARTY_NOTICES: the licenses of every shipped package. Run it after a change of dependencies: `npm run notices`; a test fails where
// it was forgotten.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SWAGGER_UI_FILES } from '../../worker/docs/assets.ts'
import { nameShipped, readShipped } from './shipped.ts'

const root = join(import.meta.dirname, '../..')
export const NOTICES = join(root, 'THIRD_PARTY_NOTICES')
const LICENSE_FILE = /^(licen[cs]e|copying|notice)([-.].*)?$/i
const RULE = '-'.repeat(80)

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
  return [...readShipped()]
    .map(([path, locked]) => ({
      name: nameShipped(path, locked),
      license: locked.license ?? 'unknown',
      // Some are binaries for other systems and not installed here.
      text: locked.optional ? '' : readLicense(join(root, path))
    }))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
}

function readLicense(folder: string): string {
  if (!existsSync(folder)) throw new Error(`${folder} is not installed; run npm ci.`)
  const files = readdirSync(folder)
    // A bundle says in a file of its own what packages it holds.
    .filter(name => LICENSE_FILE.test(name) || (name.endsWith('.LICENSE.txt') && SWAGGER_UI_FILES.includes(name)))
    .sort()
  return files.map(name => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim()).join('\n\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(NOTICES, writeNotices())
