import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { hasProperties, isAlone } from './grouping.ts'
import { createTemporaryFolder } from './temporary.ts'

t.test('imports tell which files start processes end to end, which run alone, and which have properties', async t => {
  const folder = createTemporaryFolder(t)
  const files = {
    'test/support/gateway.ts': "import { spawn } from 'node:child_process'\n",
    'test/support/in-process-gateway.ts': "import { readLog } from './gateway.ts'\n",
    'test/support/client.ts': "import { once } from 'node:events'\nimport './client.ts'\n",
    'test/end-to-end/support.ts': "export { startGateway } from '../support/gateway.ts'\n",
    'test/end-to-end/process.test.ts': "import t from 'tap'\nimport {\n  startGateway\n} from './support.ts'\n",
    'test/end-to-end/inside.test.ts':
      "import '../support/client.ts'\nimport { a } from '../support/in-process-gateway.ts'\n",
    'test/end-to-end/said.test.ts': '// Alone: it measures.\n',
    'test/worker/said.test.ts': '// Alone: it measures.\n',
    'test/worker/goldens.ts': "import { assert } from '../support/properties.ts'\n",
    'test/worker/goldens.test.ts': "import t from 'tap'\nimport './goldens.ts'\n",
    'test/worker/process.test.ts': "import { execa } from 'execa'\n"
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const alone = Object.keys(files).filter(path => path.endsWith('.test.ts') && isAlone(join(folder, path)))
  t.strictSame(alone, ['test/end-to-end/process.test.ts', 'test/end-to-end/said.test.ts', 'test/worker/said.test.ts'])
  const withProperties = Object.keys(files).filter(
    path => path.endsWith('.test.ts') && hasProperties(join(folder, path))
  )
  t.strictSame(withProperties, ['test/worker/goldens.test.ts'])
})
