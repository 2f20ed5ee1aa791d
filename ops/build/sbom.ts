// Writes the bills of materials of what is shipped, in both formats that scanners read: `npm run sbom`. `npm sbom` lists what is installed; what
// is bundled into the build is installed nowhere. So npm reads a lock file of its own, in which the shipped packages alone stand.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUNDLED, isBundled, type Locked, readShipped } from './shipped.ts'

const root = join(import.meta.dirname, '../..')
export const FORMATS = ['cyclonedx', 'spdx'] as const
export type Format = (typeof FORMATS)[number]

/** The documents of these formats, as npm writes them. */
export function writeSboms(): Record<Format, string> {
  const { name, version, license, description, engines, dependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8')
  )
  const bundled = Object.fromEntries(BUNDLED.map(bundle => [bundle, devDependencies[bundle]]))
  const product = { name, version, license, description, engines, dependencies: { ...dependencies, ...bundled } }
  const manifest = { ...product, bundleDependencies: BUNDLED }
  const packages = Object.fromEntries([...readShipped()].map(([path, locked]) => [path, asShipped(path, locked)]))
  const lock = { name, version, lockfileVersion: 3, requires: true, packages: { '': manifest, ...packages } }
  const folder = mkdtempSync(join(tmpdir(), 'llm-gateway-sbom-'))
  try {
    // npm takes the name of the product from the folder.
    const project = join(folder, name)
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock))
    return { cyclonedx: askNpm(project, 'cyclonedx'), spdx: askNpm(project, 'spdx') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A bundled package brings no other one: the build takes files of its own from it. */
function asShipped(path: string, locked: Locked): object {
  if (!isBundled(path)) return locked
  const { dev: _dev, dependencies: _dependencies, ...shipped } = locked as Locked & { dependencies?: unknown }
  return shipped
}

function askNpm(cwd: string, format: Format): string {
  const args = ['sbom', '--package-lock-only', '--sbom-type', 'application', '--sbom-format', format]
  const { NODE_OPTIONS: _hooks, ...env } = process.env
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [format, text] of Object.entries(writeSboms())) writeFileSync(join(root, `sbom.${format}.json`), text)
}
