// Reads the built files of the dashboard: `ops/dashboard/dist` in a checkout, and the same path inside a build
// (`ops/adr/2026-11-23-dashboard-built-into-the-product.md`).
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

export interface DashboardAsset {
  readonly contentType: string
  readonly body: Buffer
}

export interface Dashboard {
  readonly page: Buffer
  /** By their names, which change with their content. */
  readonly assets: ReadonlyMap<string, DashboardAsset>
}

const FOLDER = join(import.meta.dirname, '../../ops/dashboard/dist')

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8'
}

/** Reads all files; undefined where the dashboard has not been built. */
export async function readDashboard(folder = FOLDER): Promise<Dashboard | undefined> {
  try {
    const [page, names] = await Promise.all([readFile(join(folder, 'index.html')), readdir(join(folder, 'ui'))])
    const assets = names.map(async name => {
      const contentType = TYPES[extname(name)] ?? 'application/octet-stream'
      return [name, { contentType, body: await readFile(join(folder, 'ui', name)) }] as const
    })
    return { page, assets: new Map(await Promise.all(assets)) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
