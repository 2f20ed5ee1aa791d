// One page with one script and one style sheet, named by their content so that browsers may keep them.
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // Relative to the page `/_admin/ui`, so that the gateway may stand behind a path of a proxy.
  base: '',
  publicDir: false,
  build: {
    outDir: 'dist',
    assetsDir: 'ui',
    emptyOutDir: true,
    target: 'es2024',
    modulePreload: false,
    // The content security policy allows neither inline script nor style.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The terms of the libraries inside the script.
    license: { fileName: 'LICENSES.md' }
  }
})
