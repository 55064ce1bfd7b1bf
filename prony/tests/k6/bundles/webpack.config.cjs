// How webpack makes its part of dist; ts-loader wants a tsconfig.json, such as {"compilerOptions": {"sourceMap": true, "target": "es2022"}}.
const path = require('path');
const base = {
  target: 'web', externals: /^k6(\/.*)?$/, resolve: { extensions: ['.ts', '.js'] },
  module: { rules: [{ test: /\.ts$/, loader: 'ts-loader', options: { transpileOnly: true } }] },
  output: { path: path.resolve('dist'), libraryTarget: 'commonjs' }, stats: 'errors-only',
};
const named = (name, more, entry = './src/main.ts') => ({ ...base, ...more, entry: { [name]: entry }, output: { ...base.output, filename: '[name].js' } });
module.exports = [
  named('webpack-inline', { mode: 'development', devtool: 'inline-source-map' }),
  named('webpack-external', { mode: 'production', devtool: 'source-map' }),
  named('lacking-webpack-inline', { mode: 'development', devtool: 'inline-source-map' }, './src/lacking.ts'),
];
