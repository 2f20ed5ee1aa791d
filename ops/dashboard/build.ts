// Builds the dashboard into `ops/dashboard/dist`, unless what is there is newer than everything it is made of. Runs before `npm start`,
// in a build of the product, and before tests with a browser.
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const built = join(folder, 'dist')

/**
 * Builds the files where they are missing or older than their source. Resolves with whether they are there: without the development
 * dependencies they cannot be built. Rejects with the error of the bundler.
 */
export async function buildDashboard(): Promise<boolean> {
  if (isFresh()) return true
  const vite = await import('vite').catch(() => undefined)
  if (vite === undefined) return existsSync(built)
  // A running gateway, or a second build, never sees half of the files.
  const outDir = join(folder, `dist-${process.pid}`)
  try {
    await vite.build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'warn', build: { outDir } })
    rmSync(built, { recursive: true, force: true })
    renameSync(outDir, built)
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
  return true
}

function isFresh(): boolean {
  const page = join(built, 'index.html')
  if (!existsSync(page)) return false
  const builtAt = statSync(page).mtimeMs
  const sources = readdirSync(join(folder, 'src'), { recursive: true, withFileTypes: true })
  const files = [
    ...sources.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name)),
    ...['index.html', 'vite.config.ts', '../../package-lock.json'].map(name => join(folder, name))
  ]
  return files.every(file => statSync(file).mtimeMs < builtAt)
}

if (import.meta.main && !(await buildDashboard())) {
  console.error('The dashboard is not built, because the development dependency vite is not installed.')
}
