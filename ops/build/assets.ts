// Copies the files of the documentation pages and of the dashboard into a build, so that the packed artifact needs no package for them:
// those of the product, and those of Swagger UI with its license. Runs at the end of `npm run build`.
import { copyFileSync, cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findSwaggerUi, SWAGGER_UI_FILES } from '../../worker/docs/assets.ts'
import { buildDashboard } from '../dashboard/build.ts'

const checkout = join(import.meta.dirname, '..', '..')
const own = join(checkout, 'worker', 'docs', 'assets')
const built = join(checkout, 'dist', 'worker', 'docs', 'assets')

const swaggerUi = findSwaggerUi()
if (swaggerUi === undefined) throw new Error('The build needs the development dependency swagger-ui-dist.')
mkdirSync(built, { recursive: true })
for (const name of readdirSync(own)) copyFileSync(join(own, name), join(built, name))
for (const name of SWAGGER_UI_FILES) copyFileSync(join(swaggerUi, name), join(built, nameInBuild(name)))

if (!(await buildDashboard())) throw new Error('The build needs the development dependency vite.')
cpSync(join(checkout, 'ops/dashboard/dist'), join(checkout, 'dist/ops/dashboard/dist'), { recursive: true })

/** The license files of Swagger UI say whose they are. */
function nameInBuild(name: string): string {
  return name === 'LICENSE' || name === 'NOTICE' ? `swagger-ui.${name}` : name
}
