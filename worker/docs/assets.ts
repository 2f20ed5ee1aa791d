// Reads the files of the documentation pages. A build has all of them in its `assets` folder (`ops/build/assets.ts`); in a checkout those
// of Swagger UI come from its package.
import { readFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** Every file that may be read, with its media type. */
export const ASSET_TYPES = {
  'docs.css': 'text/css; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'start.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8'
} as const

export type AssetName = keyof typeof ASSET_TYPES

/** The files of the package of Swagger UI that a page or its license needs. */
export const SWAGGER_UI_FILES = [
  'favicon-32x32.png',
  'LICENSE',
  'NOTICE',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt'
]

const folder = join(import.meta.dirname, 'assets')

/** Reads a file; undefined where it is missing, as in a checkout without development dependencies. */
export async function readAsset(name: AssetName): Promise<Buffer | undefined> {
  const packaged = findSwaggerUi()
  const folders = packaged === undefined ? [folder] : [folder, packaged]
  for (const one of folders) {
    try {
      return await readFile(join(one, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return undefined
}

/** The folder of the package of Swagger UI; undefined where it is not installed. */
export function findSwaggerUi(): string | undefined {
  try {
    const file = findPackageJSON('swagger-ui-dist', import.meta.url)
    return file === undefined ? undefined : dirname(file)
  } catch {
    return undefined
  }
}
